"""Recalls of a product, of several batches or of a part of one: warnings, notifications, history and webhooks."""

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from authcodes.admin.codes.codes import status_of
from authcodes.api.webhooks import BatchRecalledData
from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange, Recall
from authcodes.models.codes import AuthCode, codes_recalled
from authcodes.models.recalls import WithdrawnRecall
from authcodes.models.scans import Scan
from authcodes.recalls import affected, notifications, recalls, scopes
from authcodes.recalls.scopes import Part, Scope
from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext
from core.errors import Invalid
from events.models import Event
from loyalty.models.webhooks import WebhookEndpoint
from tests.support import factories
from tests.support.portal import scan, staff

pytestmark = pytest.mark.django_db
TEXTS = {"recall_id": "R-7", "contact": "call us", "message": "Stop.", "reason": "Glass"}


def recall(*parts):
    return recalls.recall(scope=Scope(parts), at=timezone.now(), **TEXTS)


def reason_of_scan(code, customer=None):
    """Scans the code and returns the reason of the result."""
    context = ScanContext(at=timezone.now(), user_id=customer.pk if customer else None)
    return scanning.scan(scanned=code.code, context=context).reason


@pytest.fixture
def batch(brand):
    return factories.batch(brand, quantity=10, prefix="TEA-", scan_limit=None, range_name="Tea")


@pytest.fixture
def part(batch):
    """The codes 4 to 6."""
    return Part(batch, "TEA-0004", "TEA-0006")


def test_scans_of_only_the_recalled_part_give_a_warning(batch, part):
    recall(part)

    reasons = {code.code[-2:]: reason_of_scan(code) for code in batch.codes.order_by("code")}

    assert [number for number, reason in reasons.items() if reason == "recalled"] == ["04", "05", "06"]
    assert {reason for number, reason in reasons.items() if number not in {"04", "05", "06"}} == {"accepted"}
    assert Scan.objects.filter(reason="recalled", points_awarded=0).count() == 3


def test_recall_between_reading_and_writing_a_scan_takes_effect(batch, part, monkeypatch):
    """The scan has read its code before the recall, but the statement that accepts it checks the recall again."""
    recalled_code, other_code = batch.codes.get(code="TEA-0004"), batch.codes.get(code="TEA-0001")
    real_accept, recalls_made = scanning.accept, []

    def accept_after_recall(*parameters, **fields):
        if not recalls_made:
            recalls_made.append(recall(part))
        return real_accept(*parameters, **fields)

    monkeypatch.setattr(scanning, "accept", accept_after_recall)

    assert reason_of_scan(recalled_code) != "accepted"
    assert reason_of_scan(other_code) == "accepted"


def test_states_of_codes_reflect_a_recalled_part(batch, part):
    recall(part)

    assert sorted(AuthCode.objects.filter(codes_recalled()).values_list("code", flat=True)) == [
        "TEA-0004",
        "TEA-0005",
        "TEA-0006",
    ]
    states = {code.code: status_of(code) for code in AuthCode.objects.select_related("batch", "brand")}
    assert {code for code, state in states.items() if state == "recalled"} == {"TEA-0004", "TEA-0005", "TEA-0006"}


def test_only_customers_of_the_recalled_part_are_notified(brand, batch, part):
    inside, outside = factories.customer(brand), factories.customer(brand)
    scan(batch.codes.get(code="TEA-0005"), user=inside)
    scan(batch.codes.get(code="TEA-0007"), user=outside)
    recall_in_force = recall(part)
    scope = scopes.of_recall(recall_in_force)

    assert notifications.to_notify(recall_in_force, scope) == [inside.pk]
    assert [row.user_id for row in affected.affected(scope)] == [inside.pk]


def test_customer_of_several_batches_is_notified_once(brand, batch):
    other_batch, customer = factories.batch(brand, quantity=2), factories.customer(brand)
    for code in (*batch.codes.all()[:2], *other_batch.codes.all()):
        scan(code, user=customer)

    recall_in_force = recall(Part(batch), Part(other_batch))

    assert notifications.to_notify(recall_in_force, scopes.of_recall(recall_in_force)) == [customer.pk]
    assert {row.recall for row in BatchRange.objects.all()} == {recall_in_force}


def test_recall_with_an_already_recalled_batch_recalls_nothing(brand, batch):
    other_batch = factories.batch(brand, range_name="Free")
    recall(Part(batch))

    with pytest.raises(BatchRejected, match="already recalled"):
        recall(Part(other_batch), Part(batch))

    other_batch.refresh_from_db()
    assert (Recall.objects.count(), other_batch.recall) == (1, None)


def test_withdrawn_recall_retains_its_batches_and_their_parts(brand, batch, part):
    other_batch = factories.batch(brand, range_name="Cups")
    recall_in_force = recall(part, Part(other_batch))

    recalls.withdraw_recall(recall=recall_in_force, reason="Safe", at=timezone.now(), by=staff(brand))

    withdrawn = WithdrawnRecall.objects.get()
    parts = sorted((each.batch.range_name, each.recalled_from, each.recalled_to) for each in withdrawn.batches.all())
    assert parts == [("Cups", "", ""), ("Tea", "TEA-0004", "TEA-0006")]
    assert reason_of_scan(batch.codes.get(code="TEA-0005")) == "accepted"
    assert not BatchRange.objects.exclude(recall=None, recalled_from="", recalled_to="").exists()


def test_the_history_of_a_part_names_its_codes(batch, part):
    recall(part)

    change = batch.changes.get(kind="recalled")
    assert (change.first_code, change.last_code, change.codes) == ("TEA-0004", "TEA-0006", 3)


def test_webhooks_are_sent_for_each_batch_with_its_part(brand, batch, part):
    WebhookEndpoint.objects.create(brand=brand, url="https://x.example.com/", types=["batch.recalled"])
    other_batch = factories.batch(brand)

    recall(part, Part(other_batch))

    bodies = [event.detail["payload"]["data"] for event in Event.objects.order_by("pk") if "payload" in event.detail]
    codes_by_batch = {body["batch"]["id"]: body["codes"] for body in bodies}
    assert codes_by_batch == {batch.pk: {"first": "TEA-0004", "last": "TEA-0006"}, other_batch.pk: None}
    assert all(BatchRecalledData().to_representation(body) for body in bodies)


@pytest.mark.parametrize(
    ("first", "last", "field"),
    [("4", "99", "last"), ("x", "6", "first"), ("6", "4", "last"), ("", "6", "first"), ("٤", "6", "first")],
)
def test_invalid_part_is_rejected_with_its_field(batch, first, last, field):
    with pytest.raises(BatchRejected) as rejected:
        scopes.of_range(batch=batch, first=first, last=last)

    assert rejected.value.details["field"] == field


def test_part_with_all_codes_of_a_batch_is_the_whole_batch(batch):
    assert scopes.of_range(batch=batch, first="1", last="10") == Scope((Part(batch),))
    assert scopes.of_range(batch=batch, first="4", last="TEA-0006") == Scope((Part(batch, "TEA-0004", "TEA-0006"),))


def test_batches_of_two_brands_cannot_be_recalled_together(batch):
    other_brand_batch = factories.batch(factories.brand())

    with pytest.raises(BatchRejected, match="one brand"):
        scopes.of_batches([batch, other_brand_batch])


def test_reminder_can_be_sent_once_on_each_day_of_the_brand(brand, batch):
    brand.time_zone = "Europe/Berlin"
    brand.save()
    recall_in_force = recall(Part(batch))
    last_minute = datetime(2026, 3, 1, 22, 59, tzinfo=UTC)  # 23:59 in Berlin

    def remind(at):
        return notifications.start_reminder(recall=recall_in_force, by=None, at=at).parameters["reminder"]

    assert remind(last_minute - timedelta(hours=20)) == "2026-03-01"
    with pytest.raises(Invalid, match="reminded today"):
        remind(last_minute)
    assert remind(last_minute + timedelta(minutes=1)) == "2026-03-02"


def test_reminder_of_a_withdrawn_recall_is_rejected(brand, batch):
    recall_in_force = recall(Part(batch))
    stale = Recall.objects.get(pk=recall_in_force.pk)
    recalls.withdraw_recall(recall=recall_in_force, reason="Safe", at=timezone.now(), by=staff(brand))

    with pytest.raises(Invalid, match="has been withdrawn"):
        notifications.start_reminder(recall=stale, by=None, at=timezone.now())
    assert not notifications.jobs_of(stale).exists()
