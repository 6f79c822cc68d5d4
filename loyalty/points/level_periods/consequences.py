"""What follows when a level is lowered or renewed, or is about to end: events for wallets, webhooks and messages."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from brands.models.tenants import Brand
from core.json_values import json_number
from events import messages, publishing
from loyalty.integrations import webhook_events
from loyalty.models.levels import BrandLevel
from loyalty.models.notifications import Template
from loyalty.models.webhooks import WebhookType
from loyalty.points.balance_events import balance_changed, with_pass
from loyalty.points.level_periods.member_levels import Change, MemberLevel, Reason

# An arbitrary constant UUID: the namespace of event ids derived from the ends of levels.
EVENT_ID_NAMESPACE = uuid.UUID("5e0c1f7a-9d43-4c0b-8a62-7f1d35b9e0c4")
TYPES = {
    Reason.RENEWED: WebhookType.LEVEL_RENEWED,
    Reason.LOWERED: WebhookType.LEVEL_LOWERED,
    Reason.RETURNED: WebhookType.LEVEL_LOWERED,
    Reason.REACHED: WebhookType.LEVEL_REACHED,
}


@dataclass(frozen=True, slots=True)
class EndWarning:
    """A level that ends after the day `until`, unless the member earns the `missing` points."""

    account: int
    user_id: int
    level: str
    missing: Decimal
    until: date


def publish(
    brand: Brand,
    members: Mapping[int, MemberLevel],
    changes: Sequence[Change],
    warnings: Sequence[EndWarning],
    *,
    displayed: Sequence[MemberLevel],
    at: datetime,
) -> None:
    """Publish the events in the caller's transaction. `displayed` are members whose wallet passes change."""
    following = _for_wallets(brand, displayed, at)
    if changes:
        listened = webhook_events.listened_at(brand.pk)
        following += [
            webhook_event_of(each, members[each.account], brand.pk, at)
            for each in changes
            if TYPES[Reason(each.reason)] in listened
        ]
    if lowered := last_lowered(changes, members):
        lowest = BrandLevel.objects.filter(brand=brand).order_by("threshold").values_list("name", flat=True).first()
        following += [_lowered(brand, each, lowest or "") for each in lowered]
    following += [_ending(brand, each) for each in warnings]
    # Once: a merge, its undo or a return can give a member an end again that they were warned of.
    publishing.publish(messages=following, brand_id=brand.pk, at=at, once=True)


def last_lowered(changes: Sequence[Change], members: Mapping[int, MemberLevel]) -> list[Change]:
    """The last lowering of each member, so that a member gets one message however many ends have passed."""
    last = {
        each.account: each for each in changes if each.reason == Reason.LOWERED and members[each.account].is_notified
    }
    return list(last.values())


def _for_wallets(brand: Brand, displayed: Sequence[MemberLevel], at: datetime) -> list[messages.NewEvent]:
    passes = with_pass([each.account for each in displayed])
    return [
        balance_changed(
            brand_id=brand.pk,
            user_id=each.user_id,
            account=each.account,
            points=each.balance,
            level=each.level,
            cause=f"level:{at.isoformat()}",
            has_consumer=True,
        )
        for each in displayed
        if each.account in passes
    ]


def key_of(change: Change) -> str:
    return f"{change.account}:{change.reason}:{change.ended_on}:{change.after}"


def webhook_event_of(change: Change, member: MemberLevel, brand_id: int, at: datetime) -> messages.NewEvent:
    kind = TYPES[Reason(change.reason)]
    data = {
        "level_before": change.before,
        "current_level": change.after,
        "period_points": json_number(change.points),
        "level_until": change.until.isoformat() if change.until else None,
        "lifetime_points": json_number(member.lifetime),
        "cause": f"level:{change.ended_on}",
    }
    if kind == WebhookType.LEVEL_REACHED:
        data = {name: data[name] for name in ("current_level", "lifetime_points", "cause")}
    return webhook_events.webhook_event(
        kind,
        data,
        brand_id=brand_id,
        user_id=change.user_id,
        # With the moment, because returns may lower the same level more than once a day.
        event_id=uuid.uuid5(EVENT_ID_NAMESPACE, f"announce:{key_of(change)}:{at.isoformat()}"),
        at=at,
    )


def _lowered(brand: Brand, change: Change, lowest: str) -> messages.NewEvent:
    """A member without a level is in the lowest level."""
    return _notification(
        brand,
        change.user_id,
        f"lowered:{key_of(change)}",
        {"template": Template.LEVEL_LOWERED.value, "level_before": change.before, "level_name": change.after or lowest},
    )


def _ending(brand: Brand, warning: EndWarning) -> messages.NewEvent:
    return _notification(
        brand,
        warning.user_id,
        f"ending:{warning.account}:{warning.until}:{warning.level}",
        {
            "template": Template.LEVEL_ENDING.value,
            "level_name": warning.level,
            "points_missing": json_number(warning.missing),
            "level_until": warning.until.isoformat(),
        },
    )


def _notification(brand: Brand, user_id: int, key: str, payload: dict[str, object]) -> messages.NewEvent:
    return messages.NewEvent(
        kind="notify",
        arguments={"brand_id": brand.pk, "user_id": user_id},
        payload={**payload, "cause": f"level:{key}"},
        event_id=uuid.uuid5(EVENT_ID_NAMESPACE, f"notify:{key}"),
    )
