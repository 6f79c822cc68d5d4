"""What an order, a profile change, a login and a claimed reward earn: the event kinds that no product carries."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from zoneinfo import ZoneInfo

from django.utils import timezone
from django.utils.translation import gettext as _

from brands.models.tenants import Brand
from campaigns.models.campaigns import Campaign
from events import messages
from events.messages import LeasedEvent, RetryLater
from loyalty import earning
from loyalty.accrual import AccrualReason, AccrualRequest, QualifyingAction, accrue
from loyalty.errors import LoyaltyDisabled, MemberBlocked, NotEligible
from loyalty.models.levels import EarningRule, RewardType
from loyalty.points import ledger, orders
from loyalty.points.levels import Level
from loyalty.points.orders import Order
from loyalty.rewards import redeem

ZERO = Decimal(0)


@dataclass(frozen=True, slots=True)
class Rate:
    """What a brand gives for a kind of action: points, or percent of an amount."""

    reward_type: str
    reward_value: Decimal

    def on(self, amount: Decimal) -> Decimal:
        if self.reward_type == RewardType.PERCENTAGE:
            return earning.percentage(of=amount, percent=self.reward_value)
        return self.reward_value


def on_order_complete(delivery: LeasedEvent) -> None:
    """Spec section 6, order-complete: the basis is subtotal minus discount, once per order, for one customer."""
    order = Order.of(delivery.payload)
    entry = AccrualReason(reason_id=order.reason_id, note=_("Points for order %(order)s") % {"order": order.order_id})
    amount = orders.amount(order, brand_id=delivery.brand_id)

    def hold() -> None:
        user_id = delivery.arguments["user_id"]
        orders.hold(order, brand_id=delivery.brand_id, user_id=user_id, at=timezone.now())

    _accrue(delivery, Campaign.Type.ORDER, [entry], amount=amount, begin=hold)


def on_profile_update(delivery: LeasedEvent) -> None:
    """Each completed field earns once ever; a change of a field that was complete earns nothing."""
    fields = dict.fromkeys(delivery.payload.get("completedFields") or ())
    entries = [
        AccrualReason(
            reason_id=f"profile:{name}", note=_("Points for completing your profile: %(field)s") % {"field": name}
        )
        for name in fields
    ]
    if not entries:
        raise NotEligible(_("No field of the profile was completed."))
    _accrue(delivery, Campaign.Type.PROFILE, entries)


def on_login(delivery: LeasedEvent) -> None:
    """The first login of a day, by the brand's clock, earns."""
    zone = ZoneInfo(Brand.objects.values_list("time_zone", flat=True).get(pk=delivery.brand_id))
    day = delivery.time.astimezone(zone).date()
    _accrue(delivery, Campaign.Type.LOGIN, [AccrualReason(reason_id=f"login:{day}", note=_("Points for logging in"))])


def on_reward_claimed(delivery: LeasedEvent) -> None:
    """A milestone's reward that comes by itself: points, or a thing with its code for the till.

    Advances no campaign: it is itself a campaign's result. Raises RetryLater while the programme is switched off or the
    member blocked; past its window it waits for staff.
    """
    payload = delivery.payload
    # It was won, and cannot be won again: by an accrual that was allowed. What only lasts a while puts it off.
    try:
        if Decimal(payload["points"]):
            _pay(delivery)
        else:
            redeem.grant(delivery, at=timezone.now())
    except (LoyaltyDisabled, MemberBlocked) as refusal:
        raise RetryLater(refusal.message, after=messages.pause(delivery.attempts)) from refusal


def _pay(delivery: LeasedEvent) -> None:
    payload = delivery.payload
    words = _("Reward: %(name)s") % {"name": payload["reward_name"]}
    entry = AccrualReason(reason_id=f"{ledger.WON}{payload['milestone_id']}", note=words)
    worth = Decimal(payload["points"])

    def fixed(_level: Level | None) -> Decimal:
        return worth

    action = _action(delivery, "reward", [entry], fixed)
    won = replace(action, limited=False, needs_approval=False, needs_confirmed_email=False)
    accrue(AccrualRequest(delivery, won))


def _accrue(
    delivery: LeasedEvent,
    campaign_type: Campaign.Type,
    entries: list[AccrualReason],
    *,
    amount: Decimal = ZERO,
    begin: Callable[[], None] | None = None,
) -> None:
    rate = rate_for(delivery, campaign_type)

    def worth(_level: Level | None) -> Decimal:
        return rate.on(amount)

    accrue(AccrualRequest(delivery, _action(delivery, campaign_type, entries, worth)), begin=begin)


def rate_for(delivery: LeasedEvent, campaign_type: Campaign.Type) -> Rate:
    """The brand's rule for this kind. Without one the action may still advance a campaign, for no points."""
    rule = EarningRule.objects.filter(brand_id=delivery.brand_id, kind=delivery.kind, is_active=True).first()
    if rule:
        return Rate(rule.reward_type, rule.reward_value)
    if Campaign.objects.running(delivery.time).filter(brand_id=delivery.brand_id, type=campaign_type).exists():
        return Rate(RewardType.POINTS, ZERO)
    raise NotEligible


def _action(
    delivery: LeasedEvent, campaign_type: str, entries: list[AccrualReason], worth: Callable[[Level | None], Decimal]
) -> QualifyingAction:
    return QualifyingAction(
        brand_id=delivery.brand_id,
        user_id=delivery.arguments["user_id"],
        campaign_type=campaign_type,
        entries=entries,
        worth=worth,
        happened_at=delivery.time,
        at=timezone.now(),
    )
