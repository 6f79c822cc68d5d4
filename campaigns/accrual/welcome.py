"""Welcome points: each new member's joining becomes an action, which earns by the brand's rules, once ever.

A beat task publishes the events. Each event ID is derived from the account, and the ledger entry has one reason. So a
crash or a repeated call never pays a member twice.
"""

import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from time import monotonic

from django.db import transaction
from django.db.models import Exists, OuterRef

from brands.models.tenants import Brand
from brands.tenants.turns import once_each
from campaigns.models.earning_rules import EarningRule
from core import json_values
from events import messages, publishing
from loyalty.models.accounts import OpeningBalance, UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.points import ledger

KIND = EarningRule.Kind.WELCOME.value
REASON = "welcome:member"
# An arbitrary constant UUID: the namespace for the IDs of welcome events.
EVENT_ID_NAMESPACE = uuid.UUID("5b1c8f4e-6d0a-4b63-a5c7-2f0d9f6f7e11")
# Members who joined longer ago get no welcome points: an outage of the beat may last this long.
LATEST = timedelta(days=3)
CHUNK = 500
# Maximum events for one brand per call, and how long a call works: mass enrolments do not delay others' actions.
MAX_PUBLISHED = 500
TURN_SECONDS = 30
MAX_ID = 2**63 - 1


def publish_welcomes(*, at: datetime) -> int:
    """Publish an event for each new member of the brands that have a welcome rule. Returns how many are new.

    Brands are processed in random order, the newest members of each first, until the time of the call is up. An error
    at one brand is logged and does not stop the others.
    """
    until = monotonic() + TURN_SECONDS
    rules = EarningRule.objects.filter(kind=KIND, state=EarningRule.State.ACTIVE)
    brand_ids = rules.order_by("brand_id").values_list("brand_id", flat=True).distinct()
    brands = Brand.objects.filter(pk__in=brand_ids, loyalty_active=True)
    failure = "new members of the brand %s could not be welcomed"
    return once_each(brands, lambda brand: _publish(brand.pk, at, until), failure=failure, seconds=TURN_SECONDS)


def _publish(brand_id: int, at: datetime, until: float) -> int:
    """Each portion commits separately, so the next call can continue after an interruption."""
    published = 0
    for portion in _portions(brand_id, at):
        if published >= MAX_PUBLISHED or monotonic() > until:
            break
        new = [
            messages.NewEvent(
                kind=KIND,
                arguments={"brand_id": brand_id, "user_id": account.user_id},
                payload={"type": "welcome", "enrolled_at": json_values.iso(account.enrolled_at)},
                event_id=uuid.uuid5(EVENT_ID_NAMESPACE, str(account.pk)),
            )
            for account in portion
        ]
        with transaction.atomic():
            published += publishing.publish(messages=new, brand_id=brand_id, at=at, once=True)
    return published


def _portions(brand_id: int, at: datetime) -> Iterator[list[UserPoints]]:
    """Yield members who joined recently, while the brand had a welcome rule, and have no welcome points.

    Members with an opening balance from another programme do not count as new.
    """
    rules = EarningRule.objects.filter(brand=brand_id, kind=KIND, state=EarningRule.State.ACTIVE)
    since = min((max(rule.starts_at or rule.state_changed_at, rule.state_changed_at) for rule in rules), default=at)
    entries = LoyaltyTransaction.objects.filter(user_point=OuterRef("pk"))
    waiting = OpeningBalance.objects.filter(brand=brand_id, user=OuterRef("user"))
    rows = UserPoints.objects.filter(
        ~Exists(entries.filter(reason_id=REASON)),
        ~Exists(entries.filter(reason_id__startswith=ledger.OPENING)),
        ~Exists(waiting),
        brand=brand_id,
        enrolled_at__gte=max(since, at - LATEST),
        enrolled_at__lte=at,
    ).order_by("-pk")
    before = MAX_ID
    while portion := list(rows.filter(pk__lt=before).only("pk", "user_id", "enrolled_at")[:CHUNK]):
        before = portion[-1].pk
        yield portion
