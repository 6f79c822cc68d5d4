"""Handlers of the events that earn without a product: orders, profile changes, logins and claimed rewards."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from zoneinfo import ZoneInfo

from django.utils import timezone
from django.utils.translation import gettext as _

from brands.models.tenants import Brand
from campaigns.accrual.accrue import ACCRUAL_ERRORS, accrue
from campaigns.accrual.types import AccrualReason, AccrualRequest, QualifyingAction
from campaigns.earning.rates import rate_for
from campaigns.models.campaigns import Campaign
from campaigns.progress import claims
from core.errors import raises
from events import leases, messages
from events.messages import LeasedEvent, RetryLater
from loyalty.errors import CurrencyNotAccepted, LoyaltyDisabled, MemberBlocked, NotEligible, OrderOfAnother
from loyalty.orders import returns
from loyalty.orders.holds import Hold, hold_of_orders
from loyalty.points import ledger, orders
from loyalty.points.levels import Level
from loyalty.points.orders import Order

ZERO = Decimal(0)


@raises(*ACCRUAL_ERRORS, NotEligible, CurrencyNotAccepted, OrderOfAnother)
def on_order_complete(event: LeasedEvent) -> None:
    """Spec section 6, order-complete: the basis is subtotal minus discount, once per order, for one customer."""
    order = Order.of(event.payload)
    reason = AccrualReason(reason_id=order.reason_id, note=_("Points for order %(order)s") % {"order": order.order_id})
    amount = orders.amount(order, brand_id=event.brand_id)

    def hold_order() -> None:
        user_id = event.arguments["user_id"]
        orders.hold(order, brand_id=event.brand_id, user_id=user_id, event_id=event.event_id, at=timezone.now())

    pending = hold_of_orders(Brand.objects.get(pk=event.brand_id))
    _accrue(event, Campaign.Type.ORDER, [reason], amount=amount, begin=hold_order, hold=pending)
    if waiting := returns.events_waiting_for(brand_id=event.brand_id, order_id=order.order_id):
        leases.hasten(waiting, at=timezone.now())


@raises(*ACCRUAL_ERRORS, NotEligible)
def on_profile_update(event: LeasedEvent) -> None:
    """Each field earns once, when it is first completed; later changes earn nothing."""
    fields = dict.fromkeys(event.payload.get("completedFields") or ())
    reasons = [
        AccrualReason(
            reason_id=f"profile:{name}", note=_("Points for completing your profile: %(field)s") % {"field": name}
        )
        for name in fields
    ]
    if not reasons:
        raise NotEligible(_("No field of the profile was completed."))
    _accrue(event, Campaign.Type.PROFILE, reasons)


@raises(*ACCRUAL_ERRORS, NotEligible)
def on_login(event: LeasedEvent) -> None:
    """The first login of a day, by the brand's clock, earns."""
    zone = ZoneInfo(Brand.objects.values_list("time_zone", flat=True).get(pk=event.brand_id))
    day = event.time.astimezone(zone).date()
    _accrue(event, Campaign.Type.LOGIN, [AccrualReason(reason_id=f"login:{day}", note=_("Points for logging in"))])


def on_reward_claimed(event: LeasedEvent) -> None:
    """A milestone's reward that is claimed automatically: points, or a thing with its code for the till.

    It advances no campaign. Raises RetryLater while the programme is switched off or the member is blocked: the member
    has earned the reward, so it waits instead of being refused. When its retries end, staff can retry it.
    """
    try:
        if Decimal(event.payload["points"]):
            _credit_reward(event)
        else:
            claims.grant(event, at=timezone.now())
    except (LoyaltyDisabled, MemberBlocked) as error:
        raise RetryLater(error.message, after=messages.pause(event.attempts)) from error


def _credit_reward(event: LeasedEvent) -> None:
    note = _("Reward: %(name)s") % {"name": event.payload["reward_name"]}
    reason = AccrualReason(reason_id=f"{ledger.WON}{event.payload['milestone_id']}", note=note)
    points = Decimal(event.payload["points"])

    def points_for(_level: Level | None) -> Decimal:
        return points

    action = _action(event, "reward", [reason], points_for)
    unconditional = replace(action, limited=False, needs_approval=False, needs_confirmed_email=False)
    accrue(AccrualRequest(event, unconditional))


def _accrue(
    event: LeasedEvent,
    campaign_type: Campaign.Type,
    reasons: list[AccrualReason],
    *,
    amount: Decimal = ZERO,
    begin: Callable[[], None] | None = None,
    hold: Hold | None = None,
) -> None:
    rate = rate_for(event, campaign_type)

    def points_for(_level: Level | None) -> Decimal:
        return rate.on(amount)

    action = replace(_action(event, campaign_type, reasons, points_for), hold=hold)
    accrue(AccrualRequest(event, action), begin=begin)


def _action(
    event: LeasedEvent, campaign_type: str, reasons: list[AccrualReason], points_for: Callable[[Level | None], Decimal]
) -> QualifyingAction:
    return QualifyingAction(
        brand_id=event.brand_id,
        user_id=event.arguments["user_id"],
        campaign_type=campaign_type,
        reasons=reasons,
        points_for=points_for,
        happened_at=event.time,
        at=timezone.now(),
    )
