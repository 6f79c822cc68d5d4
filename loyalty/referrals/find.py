"""Finds friends who have acted, from the ledger and outside accruals, which know no referrals.

A beat publishes an event for each, and its handler decides. The event's id is derived from the referral and the entry,
and a referral is decided once. So neither a crash nor a duplicate event pays twice.
"""

import random
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django.db.models import Max, Min

from brands.models.tenants import Brand
from brands.tenants.turns import once_each
from core.db.statements import part, query
from events import messages, publishing
from loyalty.models.programme.referrals import Referral, ReferralProgramme

KIND = "referral-action"
# An arbitrary constant UUID: the namespace of event ids derived from referrals.
EVENT_ID_NAMESPACE = uuid.UUID("2f7b1c36-52a5-4d0b-8d57-5d5c7a0c0c41")
# Per brand and call: events to publish, and waiting referrals to check. A brand with more starts at a random one.
MAX_PUBLISHED, MAX_SCANNED = 500, 20_000
MAX_LAPSED = 5_000
TURN_SECONDS = 15
FIRST_ACTION = part("loyalty/referrals/sql/first_action.sql")


@dataclass(frozen=True, slots=True)
class FirstAction:
    """A waiting referral, and the friend's ledger entry that fulfils it."""

    referral: int
    entry: int
    reason_id: str


FIND_FIRST_ACTIONS = query(
    "loyalty/referrals/sql/find_first_actions.sql", returns=FirstAction, first_action=FIRST_ACTION
)
FETCH_FIRST_ACTION = query(
    "loyalty/referrals/sql/fetch_first_action.sql", returns=FirstAction, first_action=FIRST_ACTION
)


def publish_first_actions(*, at: datetime) -> int:
    """Publish an event for each referral whose friend has acted, and let old ones lapse. Returns how many are new.

    Takes the brands in any order until the time is up; the next call goes on. A failing brand is logged and does not
    block the others.
    """
    programmes = ReferralProgramme.objects.filter(is_active=True)
    brands = Brand.objects.filter(pk__in=programmes.values("brand"), loyalty_active=True)
    failure = "referrals of the brand %s could not be looked through"
    return once_each(brands, partial(_check_waiting, at=at), failure=failure, seconds=TURN_SECONDS)


def _check_waiting(brand: Brand, *, at: datetime) -> int:
    programme = ReferralProgramme.objects.select_related("brand").filter(brand=brand, is_active=True).first()
    if programme is None:  # just switched off
        return 0
    published = _publish(programme, at)
    lapse(programme, at)
    return published


def _publish(programme: ReferralProgramme, at: datetime) -> int:
    brand = programme.brand
    rows = FIND_FIRST_ACTIONS.all(
        brand_id=brand.pk,
        action=programme.action,
        confirmed_only=brand.requires_confirmed_email,
        after=_start(brand.pk),
        scanned=MAX_SCANNED,
        most=MAX_PUBLISHED,
    )
    new = [
        messages.NewEvent(
            kind=KIND,
            arguments={"brand_id": brand.pk},
            payload={"referral": each.referral},
            event_id=uuid.uuid5(EVENT_ID_NAMESPACE, f"{each.referral}:{each.entry}"),
        )
        for each in rows
    ]
    if not new:
        return 0
    with transaction.atomic():
        return publishing.publish(messages=new, brand_id=brand.pk, at=at, once=True)


def _start(brand_id: int) -> int:
    """The referral id after which a turn begins: 0 if one turn can check all."""
    waiting = Referral.objects.filter(brand=brand_id, state=Referral.State.WAITING).order_by("id")
    if waiting[: MAX_SCANNED + 1].count() <= MAX_SCANNED:
        return 0
    ends = waiting.aggregate(first=Min("id"), last=Max("id"))
    return random.randint(ends["first"] - MAX_SCANNED, ends["last"])  # noqa: S311 - need not be unpredictable


def lapse(programme: ReferralProgramme, at: datetime) -> int:
    """End referrals that have waited too long. Returns how many. Skips those that a handler decides right now."""
    before = at - timedelta(days=programme.days_for_action)
    waiting = Referral.objects.filter(brand=programme.brand_id, state=Referral.State.WAITING, created_at__lt=before)
    oldest = list(waiting.order_by("id").values_list("pk", flat=True)[:MAX_LAPSED])
    if not oldest:
        return 0
    rows = Referral.objects.filter(pk__in=oldest, state=Referral.State.WAITING)
    return rows.update(state=Referral.State.LAPSED, decided_at=at)
