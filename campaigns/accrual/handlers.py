"""Handlers of events that earn without a product: orders, profile changes, logins, joining, birthdays and rewards."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.db import DatabaseError, connection
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from brands.models.tenants import Brand
from campaigns.accrual import birthdays, welcome
from campaigns.accrual.accrue import ACCRUAL_ERRORS, accrue, accrue_batch
from campaigns.accrual.merged_members import for_current_member
from campaigns.accrual.types import AccrualReason, AccrualRequest, QualifyingAction
from campaigns.earning.action_context import ActionContext, Item
from campaigns.models.campaigns import Campaign
from campaigns.models.earning_rules import EarningRule
from campaigns.progress import claims
from core.errors import raises
from events import leases, messages
from events.messages import LeasedEvent, RetryLater
from loyalty.errors import CurrencyNotAccepted, LoyaltyDisabled, MemberBlocked, NotEligible, OrderOfAnother
from loyalty.orders import returns
from loyalty.orders.holds import hold_of_orders
from loyalty.points import ledger, orders
from loyalty.points.orders import Order

logger = logging.getLogger(__name__)

Kind = EarningRule.Kind


@raises(*ACCRUAL_ERRORS, CurrencyNotAccepted, OrderOfAnother)
@for_current_member
def on_order_complete(event: LeasedEvent) -> None:
    """Spec section 6, order-complete: credits subtotal minus discount, once per order, to one customer."""
    order = Order.of(event.payload)
    reason = AccrualReason(
        reason_id=order.reason_id, note=gettext_noop("Points for order %(order)s") % {"order": order.order_id}
    )
    context = order_context(
        event.payload, brand_id=event.brand_id, user_id=event.arguments["user_id"], happened_at=event.time
    )

    def hold_order() -> None:
        user_id = event.arguments["user_id"]
        orders.hold(order, brand_id=event.brand_id, user_id=user_id, event_id=event.event_id, at=timezone.now())

    hold = hold_of_orders(Brand.objects.get(pk=event.brand_id))
    action = replace(_action(event, Campaign.Type.ORDER, [reason], context), hold=hold)
    accrue(AccrualRequest(event, action), begin=hold_order)
    if waiting := returns.events_waiting_for(brand_id=event.brand_id, order_id=order.order_id):
        leases.hasten(waiting, at=timezone.now())


def order_context(payload: Mapping[str, Any], *, brand_id: int, user_id: int, happened_at: datetime) -> ActionContext:  # noqa: ARG001
    """An order as earning rules see it. Its amount is what was paid for goods, in the brand's currency.

    Raises CurrencyNotAccepted.
    """
    amount = orders.amount(Order.of(dict(payload)), brand_id=brand_id)
    return order_of(payload, amount=amount, happened_at=happened_at)


def order_of(payload: Mapping[str, Any], *, amount: Decimal, happened_at: datetime) -> ActionContext:
    """Like order_context, for an amount that is known already."""
    order = payload["order"]
    items = tuple(
        Item(
            product_id=each.get("productId"),
            sku=each.get("sku") or "",
            quantity=each["quantity"],
            price=Decimal(str(each["unitPrice"])),
        )
        for each in order.get("items") or ()
    )
    return ActionContext(
        kind=Kind.ORDER,
        happened_at=happened_at,
        items=items,
        channel=order.get("channel") or "",
        subtotal=Decimal(str(order["subtotal"])),
        amount=amount,
        payload=payload,
    )


def login_context(payload: Mapping[str, Any], *, brand_id: int, user_id: int, happened_at: datetime) -> ActionContext:  # noqa: ARG001
    """A login as earning rules see it."""
    return ActionContext(
        kind=Kind.LOGIN, happened_at=happened_at, channel=payload.get("channel") or "", payload=payload
    )


def profile_context(payload: Mapping[str, Any], *, brand_id: int, user_id: int, happened_at: datetime) -> ActionContext:  # noqa: ARG001
    """A profile change as earning rules see it, with the first of its completed fields."""
    fields = payload.get("completedFields") or [""]
    return ActionContext(kind=Kind.PROFILE, happened_at=happened_at, profile_field=fields[0], payload=payload)


@raises(*ACCRUAL_ERRORS)
@for_current_member
def on_profile_update(event: LeasedEvent) -> None:
    """Each field earns once, when it is first completed; later changes earn nothing."""
    fields = dict.fromkeys(event.payload.get("completedFields") or ())
    reasons = [
        AccrualReason(
            reason_id=f"profile:{name}",
            note=gettext_noop("Points for completing your profile: %(field)s") % {"field": name},
            profile_field=name,
        )
        for name in fields
    ]
    if not reasons:
        raise NotEligible(_("No field of the profile was completed."))
    context = ActionContext(kind=Kind.PROFILE, happened_at=event.time, payload=event.payload)
    accrue(AccrualRequest(event, _action(event, Campaign.Type.PROFILE, reasons, context)))


@raises(*ACCRUAL_ERRORS)
@for_current_member
def on_login(event: LeasedEvent) -> None:
    """The first login of a day, by the brand's clock, earns."""
    zone = ZoneInfo(Brand.objects.values_list("time_zone", flat=True).get(pk=event.brand_id))
    day = event.time.astimezone(zone).date()
    reason = AccrualReason(reason_id=f"login:{day}", note=gettext_noop("Points for logging in"))
    user_id = event.arguments["user_id"]
    context = login_context(event.payload, brand_id=event.brand_id, user_id=user_id, happened_at=event.time)
    accrue(AccrualRequest(event, _action(event, Campaign.Type.LOGIN, [reason], context)))


def welcome_context(payload: Mapping[str, Any], *, brand_id: int, user_id: int, happened_at: datetime) -> ActionContext:  # noqa: ARG001
    """A member's joining as earning rules see it, at the moment of joining."""
    return ActionContext(kind=Kind.WELCOME, happened_at=datetime.fromisoformat(payload["enrolled_at"]), payload=payload)


@raises(*ACCRUAL_ERRORS)
@for_current_member
def on_welcome(event: LeasedEvent) -> None:
    """Credit a new member's welcome points, once ever. Only this service publishes this kind."""
    reason = AccrualReason(reason_id=welcome.REASON, note=gettext_noop("Points for joining"))
    user_id = event.arguments["user_id"]
    context = welcome_context(event.payload, brand_id=event.brand_id, user_id=user_id, happened_at=event.time)
    accrue(AccrualRequest(event, _action(event, "welcome", [reason], context)))


def birthday_context(payload: Mapping[str, Any], *, brand_id: int, **_about: Any) -> ActionContext:
    """A birthday as earning rules see it, on the day for which the brand gives points."""
    day = date.fromisoformat(payload["day"])
    at = birthdays.moment_of(Brand.objects.get(pk=brand_id), day)
    return ActionContext(kind=Kind.BIRTHDAY, happened_at=at, payload=payload)


@raises(*ACCRUAL_ERRORS)
def on_birthday(event: LeasedEvent) -> None:
    """Credit a member's birthday points, once a year. Only this service publishes this kind."""
    year = date.fromisoformat(event.payload["day"]).year
    reason = AccrualReason(reason_id=f"{birthdays.REASON}{year}", note=gettext_noop("Points for your birthday"))
    user_id = event.arguments["user_id"]
    context = birthday_context(event.payload, brand_id=event.brand_id, user_id=user_id, happened_at=event.time)
    accrue(AccrualRequest(event, _action(event, "birthday", [reason], context)))


def on_reward_claimed(event: LeasedEvent) -> None:
    """Give a milestone's reward that is claimed automatically: points, or a thing with its code for the till.

    It advances no campaign. Raises RetryLater while the programme is switched off or the member is blocked: the member
    has earned the reward, so it waits and is not rejected. When its retries end, staff can retry it.
    """
    try:
        _give_reward(event)
    except (LoyaltyDisabled, MemberBlocked) as error:
        raise RetryLater(error.message, after=messages.pause(event.attempts)) from error


def on_reward_claimed_batch(events: Sequence[LeasedEvent]) -> list[LeasedEvent]:
    """Give many rewards at once: points, then things. Returns the events that on_reward_claimed must handle."""
    things = [event for event in events if _is_thing(event)]
    requests = [_credit_request(event) for event in events if not _is_thing(event)]
    left = [request.event for request in accrue_batch(requests)]
    try:
        return left + claims.grant_many(things, at=timezone.now())
    except DatabaseError:
        if not connection.is_usable():
            raise
        # The points have been credited. One of the things fails, so each is given separately.
        logger.exception("%d rewards could not be given together", len(things))
        return left + things


@for_current_member
def _give_reward(event: LeasedEvent) -> None:
    if _is_thing(event):
        claims.grant(event, at=timezone.now())
    else:
        accrue(_credit_request(event))


def _is_thing(event: LeasedEvent) -> bool:
    """Whether the milestone gave a thing when it was reached; what it gives now does not matter."""
    return not Decimal(event.payload["points"])


def _credit_request(event: LeasedEvent) -> AccrualRequest:
    note = gettext_noop("Reward: %(name)s") % {"name": event.payload["reward_name"]}
    reason = AccrualReason(reason_id=milestone_reason_id(event.payload), note=note)
    context = milestone_context(event.payload, happened_at=event.time)
    action = _action(event, "reward", [reason], context)
    unconditional = replace(action, limited=False, needs_approval=False, needs_confirmed_email=False)
    return AccrualRequest(event, unconditional)


def milestone_reason_id(payload: Mapping[str, Any]) -> str:
    """The reason of the ledger entry for a milestone that pays points: one for each round of its campaign."""
    milestone_round = payload.get("round", 1)
    suffix = f":{milestone_round}" if milestone_round > 1 else ""
    return f"{ledger.WON}{payload['milestone_id']}{suffix}"


def milestone_context(payload: Mapping[str, Any], *, happened_at: datetime) -> ActionContext:
    """A milestone that pays points, as earning rules see it."""
    return ActionContext(
        kind=Kind.MILESTONE,
        happened_at=happened_at,
        campaign_id=payload.get("campaign_id"),
        fixed_points=Decimal(payload["points"]),
        payload=payload,
    )


def _action(
    event: LeasedEvent, campaign_type: str, reasons: list[AccrualReason], context: ActionContext
) -> QualifyingAction:
    return QualifyingAction(
        brand_id=event.brand_id,
        user_id=event.arguments["user_id"],
        campaign_type=campaign_type,
        reasons=reasons,
        context=context,
        at=timezone.now(),
    )
