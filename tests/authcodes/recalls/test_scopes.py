"""A recall of a product, of several batches, or of a part of one: who is warned, who is told, what others read."""

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


def scanned(code, customer=None):
    """The reason of the answer."""
    context = ScanContext(at=timezone.now(), user_id=customer.pk if customer else None)
    return scanning.scan(scanned=code.code, context=context).reason


@pytest.fixture
def batch(brand):
    return factories.batch(brand, quantity=10, prefix="TEA-", scan_limit=None, range_name="Tea")


@pytest.fixture
def part(batch):
    """The codes 4 to 6."""
    return Part(batch, "TEA-0004", "TEA-0006")


def test_a_part_warns_its_codes_and_no_others(batch, part):
    recall(part)

    reasons = {code.code[-2:]: scanned(code) for code in batch.codes.order_by("code")}

    assert [number for number, reason in reasons.items() if reason == "recalled"] == ["04", "05", "06"]
    assert {reason for number, reason in reasons.items() if number not in {"04", "05", "06"}} == {"accepted"}
    assert Scan.objects.filter(reason="recalled", points_awarded=0).count() == 3


def test_a_recall_that_came_between_reading_and_writing_is_seen(batch, part, monkeypatch):
    """As if the scan had read its code before the recall: the statement that takes the slot looks again."""
    first, other = batch.codes.get(code="TEA-0004"), batch.codes.get(code="TEA-0001")
    real, done = scanning.accept, []

    def later(*parameters, **more):
        if not done:
            done.append(recall(part))
        return real(*parameters, **more)

    monkeypatch.setattr(scanning, "accept", later)

    assert scanned(first) != "accepted"
    assert scanned(other) == "accepted"


def test_a_part_shows_in_the_states_of_codes(batch, part):
    recall(part)

    assert sorted(AuthCode.objects.filter(codes_recalled()).values_list("code", flat=True)) == [
        "TEA-0004",
        "TEA-0005",
        "TEA-0006",
    ]
    states = {code.code: status_of(code) for code in AuthCode.objects.select_related("batch", "brand")}
    assert {code for code, state in states.items() if state == "recalled"} == {"TEA-0004", "TEA-0005", "TEA-0006"}


def test_only_customers_of_the_part_are_told(brand, batch, part):
    inside, outside = factories.customer(brand), factories.customer(brand)
    scan(batch.codes.get(code="TEA-0005"), user=inside)
    scan(batch.codes.get(code="TEA-0007"), user=outside)
    made = recall(part)
    scope = scopes.of_recall(made)

    assert notifications.to_notify(made, scope) == [inside.pk]
    assert [row.user_id for row in affected.affected(scope)] == [inside.pk]


def test_a_customer_of_several_batches_is_told_once(brand, batch):
    other, customer = factories.batch(brand, quantity=2), factories.customer(brand)
    for code in (*batch.codes.all()[:2], *other.codes.all()):
        scan(code, user=customer)

    made = recall(Part(batch), Part(other))

    assert notifications.to_notify(made, scopes.of_recall(made)) == [customer.pk]
    assert {row.recall for row in BatchRange.objects.all()} == {made}


def test_a_recall_that_shares_a_batch_recalls_nothing_at_all(brand, batch):
    other = factories.batch(brand, range_name="Free")
    recall(Part(batch))

    with pytest.raises(BatchRejected, match="already recalled"):
        recall(Part(other), Part(batch))

    other.refresh_from_db()
    assert (Recall.objects.count(), other.recall) == (1, None)


def test_what_is_withdrawn_keeps_its_batches_and_their_parts(brand, batch, part):
    other = factories.batch(brand, range_name="Cups")
    made = recall(part, Part(other))

    recalls.withdraw_recall(recall=made, reason="Safe", at=timezone.now(), by=staff(brand))

    kept = WithdrawnRecall.objects.get()
    lines = sorted((each.batch.range_name, each.recalled_from, each.recalled_to) for each in kept.batches.all())
    assert lines == [("Cups", "", ""), ("Tea", "TEA-0004", "TEA-0006")]
    assert scanned(batch.codes.get(code="TEA-0005")) == "accepted"
    assert not BatchRange.objects.exclude(recall=None, recalled_from="", recalled_to="").exists()


def test_the_history_of_a_part_names_its_codes(batch, part):
    recall(part)

    line = batch.changes.get(kind="recalled")
    assert (line.first_code, line.last_code, line.codes) == ("TEA-0004", "TEA-0006", 3)


def test_webhooks_hear_of_each_batch_and_of_its_part(brand, batch, part):
    WebhookEndpoint.objects.create(brand=brand, url="https://x.example.com/", types=["batch.recalled"])
    other = factories.batch(brand)

    recall(part, Part(other))

    bodies = [event.detail["payload"]["data"] for event in Event.objects.order_by("pk") if "payload" in event.detail]
    codes_by_batch = {body["batch"]["id"]: body["codes"] for body in bodies}
    assert codes_by_batch == {batch.pk: {"first": "TEA-0004", "last": "TEA-0006"}, other.pk: None}
    assert all(BatchRecalledData().to_representation(body) for body in bodies)


@pytest.mark.parametrize(
    ("first", "last", "field"),
    [("4", "99", "last"), ("x", "6", "first"), ("6", "4", "last"), ("", "6", "first"), ("٤", "6", "first")],
)
def test_a_part_that_cannot_be_is_refused_at_its_field(batch, first, last, field):
    with pytest.raises(BatchRejected) as refused:
        scopes.of_range(batch=batch, first=first, last=last)

    assert refused.value.details["field"] == field


def test_all_codes_of_a_batch_are_the_batch(batch):
    assert scopes.of_range(batch=batch, first="1", last="10") == Scope((Part(batch),))
    assert scopes.of_range(batch=batch, first="4", last="TEA-0006") == Scope((Part(batch, "TEA-0004", "TEA-0006"),))


def test_batches_of_two_brands_are_no_recall(batch):
    foreign = factories.batch(factories.brand())

    with pytest.raises(BatchRejected, match="one brand"):
        scopes.of_batches([batch, foreign])


def test_a_reminder_is_sent_once_a_day_and_only_with_the_recall(brand, batch):
    made = recall(Part(batch))
    notifications.start_reminder(recall=made, by=None, at=timezone.now())

    with pytest.raises(Invalid, match="reminded today"):
        notifications.start_reminder(recall=made, by=None, at=timezone.now())
