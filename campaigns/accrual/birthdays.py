"""Birthday points: each member's birthday becomes an action, which earns by the brand's rules, once a year.

A beat task publishes the events. Each event ID is derived from the account and the year, and the ledger entry has one
reason a year. So a crash, a repeated call or a changed birthday never pays a member twice.
"""

import uuid
from calendar import isleap
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from time import monotonic

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from brands.models.tenants import Brand
from brands.tenants import local_time
from brands.tenants.turns import once_each
from campaigns.models.earning_rules import EarningRule
from events import messages, publishing
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.members.birthdays import Birthday

KIND = EarningRule.Kind.BIRTHDAY.value
REASON = "birthday:"
# An arbitrary constant UUID: the namespace for the IDs of birthday events.
EVENT_ID_NAMESPACE = uuid.UUID("8a5a8a52-0f43-4c0f-9b0e-6e0b6b3c9b57")
# How many days each call covers, including today: an outage of the beat may last this long.
CAUGHT_UP_DAYS = 3
CHUNK = 500
# Maximum events for one brand per call, and how long a call works. So a brand whose members were all born on 1 January
# does not delay other brands' actions.
MAX_PUBLISHED = 2_000
TURN_SECONDS = 30


def publish_birthdays(*, at: datetime) -> int:
    """Publish an event for each birthday at brands that have a birthday rule. Returns how many are new.

    Brands are processed in random order until the time of the call is up; the next call continues. An error at one
    brand is logged and does not stop the others.
    """
    until = monotonic() + TURN_SECONDS
    rules = EarningRule.objects.filter(kind=KIND, state=EarningRule.State.ACTIVE)
    brand_ids = rules.order_by("brand_id").values_list("brand_id", flat=True).distinct()
    brands = Brand.objects.filter(pk__in=brand_ids, loyalty_active=True)
    failure = "birthdays at the brand %s could not be celebrated"
    return once_each(brands, lambda brand: _publish(brand, at, until), failure=failure, seconds=TURN_SECONDS)


def _publish(brand: Brand, at: datetime, until: float) -> int:
    """Each portion commits separately, so the next call can continue after an interruption."""
    published = 0
    since = brand.day_at(at) - timedelta(days=CAUGHT_UP_DAYS - 1)
    for day in (since + timedelta(days=number) for number in reversed(range(CAUGHT_UP_DAYS))):
        for portion in _portions(brand, day, at):
            if published >= MAX_PUBLISHED or monotonic() > until:
                return published
            new = [
                messages.NewEvent(
                    kind=KIND,
                    arguments={"brand_id": brand.pk, "user_id": user_id},
                    payload={"type": "birthday", "day": str(day)},
                    event_id=uuid.uuid5(EVENT_ID_NAMESPACE, f"{account}:{day.year}"),
                )
                for account, user_id in portion
            ]
            with transaction.atomic():
                published += publishing.publish(messages=new, brand_id=brand.pk, at=at, once=True)
    return published


def _portions(brand: Brand, day: date, at: datetime) -> Iterator[list[tuple[int, int]]]:
    """Yield the accounts and users whose points are due on `day` and who have none for that year.

    A birthday set too late counts from the next year on. A rule covers only the days on which it was in force.
    """
    is_due = _born_on(brand, day)
    if is_due is None or not _has_rule(brand, day):
        return
    entries = LoyaltyTransaction.objects.filter(user_point=OuterRef("pk"), reason_id=f"{REASON}{day.year}")
    set_before = local_time.midnight(day + timedelta(days=1), brand.zone) - timedelta(days=brand.birthday_lead_days)
    birthdays = Birthday.objects.filter(is_due, brand=brand, set_at__lt=set_before)
    rows = UserPoints.objects.filter(
        ~Exists(entries),
        brand=brand,
        status=UserPoints.Status.ACTIVE,
        user__in=birthdays.values("user"),
        enrolled_at__lte=at,
    ).order_by("pk")
    after = 0
    while portion := list(rows.filter(pk__gt=after).values_list("pk", "user_id")[:CHUNK]):
        after = portion[-1][0]
        yield portion


def _born_on(brand: Brand, day: date) -> Q | None:
    """Return the filter for birthdays whose points are due on `day`; None if none are due."""
    if brand.birthday_points == Brand.BirthdayPoints.MONTH:
        return Q(month=day.month) if day.day == 1 else None
    is_due = Q(month=day.month, day=day.day)
    if (day.month, day.day) == (2, 28) and not isleap(day.year):
        is_due |= Q(month=2, day=29)
    return is_due


def _has_rule(brand: Brand, day: date) -> bool:
    """Whether a rule in force now was already in force on `day`: activating a rule pays nothing for earlier days."""
    noon, end = moment_of(brand, day), local_time.midnight(day + timedelta(days=1), brand.zone)
    rules = EarningRule.objects.filter(brand=brand, kind=KIND, state=EarningRule.State.ACTIVE)
    return any(
        rule.state_changed_at < end
        for rule in rules
        if (rule.starts_at is None or rule.starts_at <= noon) and (rule.ends_at is None or rule.ends_at > noon)
    )


def moment_of(brand: Brand, day: date) -> datetime:
    """The moment of a birthday, for rules: noon, so that one that begins or ends at midnight is unambiguous."""
    return datetime.combine(day, time(12), tzinfo=brand.zone)
