"""Codes added to a recall in force: the same steps, only new customers are notified, and withdrawing ends all of it."""

import re

import pytest
from django.utils import timezone

from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange, Recall
from authcodes.models.recalls import WithdrawnRecall
from authcodes.recalls import notifications, recalls, scopes
from authcodes.recalls.scopes import Part, Scope
from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext
from brands.models.audit import AuditLogEntry
from events.models import Event
from jobs import runner
from jobs.models import Job
from loyalty.models.notifications import Notification
from loyalty.models.webhooks import WebhookEndpoint
from tests.support import factories
from tests.support.portal import address, browser, scan, staff, text

pytestmark = pytest.mark.django_db
TEXTS = {"recall_id": "R-7", "contact": "call us", "message": "Stop using it.", "reason": "Glass"}
RECALL = "authcodes.recall"


@pytest.fixture
def batch(brand):
    return factories.batch(brand, quantity=20, prefix="TEA-", scan_limit=None, range_name="Tea")


@pytest.fixture
def other(brand, batch):
    """Of the same product."""
    return factories.batch(brand, quantity=3, prefix="CUP-", scan_limit=None, range_name="Cups", product=batch.product)


@pytest.fixture
def jam(brand):
    product = factories.product(brand, title="Jam")
    return factories.batch(brand, quantity=3, prefix="JAM-", scan_limit=None, range_name="Jars", product=product)


@pytest.fixture
def part(batch):
    """Its codes 4 to 6 are recalled."""
    return recalls.recall(scope=scopes.of_range(batch=batch, first="4", last="6"), at=timezone.now(), **TEXTS)


@pytest.fixture
def client(brand):
    return browser(staff(brand))


def fresh(batch):
    return BatchRange.objects.select_related("brand", "product").get(pk=batch.pk)


def add_codes(recall, *parts, **more):
    details = {"reason": "More glass", "at": timezone.now(), "by": staff(recall.brand), **more}
    return recalls.add_codes(recall=recall, added=Scope(parts), **details)


def ends(recall):
    return sorted((row.range_name, row.recalled_from, row.recalled_to) for row in recall.batches.all())


def reason_of(code):
    return scanning.scan(scanned=code.code, context=ScanContext(at=timezone.now())).reason


def page_of(client, recall, **query):
    return client.get(address(RECALL, "add-codes", recall.pk), query)


def test_a_batch_and_more_codes_of_a_batch_are_added(batch, other, part):
    assert reason_of(batch.codes.get(code="TEA-0008")) == "accepted"

    add_codes(part, Part(fresh(batch), "TEA-0007", "TEA-0009"), Part(fresh(other)))

    assert ends(part) == [("Cups", "", ""), ("Tea", "TEA-0004", "TEA-0009")]
    assert [reason_of(batch.codes.get(code=f"TEA-000{number}")) for number in (3, 4, 8)] == [
        "accepted",
        "recalled",
        "recalled",
    ]
    assert reason_of(other.codes.first()) == "recalled"
    assert Recall.objects.get().message == TEXTS["message"]


@pytest.mark.parametrize(
    ("first", "last", "stored"),
    [("5", "9", ("TEA-0004", "TEA-0009")), ("2", "3", ("TEA-0002", "TEA-0006")), ("1", "20", ("", ""))],
)
def test_a_part_joins_the_part_before(batch, part, first, last, stored):
    add_codes(part, *scopes.of_range(batch=fresh(batch), first=first, last=last).parts)

    assert ends(part) == [("Tea", *stored)]


@pytest.mark.parametrize(
    ("first", "last", "message"),
    [("8", "9", "directly before or after"), ("1", "2", "directly before or after"), ("4", "5", "already")],
)
def test_what_cannot_be_one_part_with_it_or_is_recalled_is_refused(batch, part, first, last, message):
    with pytest.raises(BatchRejected, match=message):
        add_codes(part, *scopes.of_range(batch=fresh(batch), first=first, last=last).parts)

    assert ends(part) == [("Tea", "TEA-0004", "TEA-0006")]


def test_codes_of_another_recall_or_brand_are_refused_and_a_reason_is_needed(batch, other, part):
    recalls.recall_batch(batch=other, at=timezone.now(), **{**TEXTS, "recall_id": "R-8"})
    foreign = factories.batch(factories.brand())

    for parts, more, message in (
        ([Part(fresh(other))], {}, "already recalled"),
        ([Part(fresh(foreign))], {}, "one brand"),
        ([Part(fresh(batch))], {"reason": " "}, "Enter a reason"),
    ):
        with pytest.raises(BatchRejected, match=message):
            add_codes(part, *parts, **more)
    assert ends(part) == [("Tea", "TEA-0004", "TEA-0006")]


def test_history_and_webhooks_hear_of_what_was_added(brand, batch, other, part):
    WebhookEndpoint.objects.create(brand=brand, url="https://x.example.com/", types=["batch.recalled"])

    add_codes(part, Part(fresh(batch), "TEA-0007", "TEA-0009"), Part(fresh(other)))

    line = batch.changes.filter(kind="recalled").latest("pk")
    assert (line.first_code, line.last_code, line.codes, line.reason) == ("TEA-0007", "TEA-0009", 3, "More glass")
    bodies = [event.detail["payload"]["data"] for event in Event.objects.order_by("pk") if "payload" in event.detail]
    assert {body["batch"]["id"]: body["codes"] for body in bodies} == {
        batch.pk: {"first": "TEA-0004", "last": "TEA-0009"},
        other.pk: None,
    }


def test_a_recall_with_added_codes_is_withdrawn_whole(brand, batch, other, part):
    add_codes(part, Part(fresh(other)))

    recalls.withdraw_recall(recall=part, reason="Safe", at=timezone.now(), by=staff(brand))

    assert sorted(each.batch.range_name for each in WithdrawnRecall.objects.get().batches.all()) == ["Cups", "Tea"]
    assert reason_of(other.codes.first()) == "accepted"
    assert not BatchRange.objects.exclude(recall=None).exists()
    with pytest.raises(BatchRejected, match="withdrawn"):
        add_codes(part, Part(fresh(other)))


def test_only_customers_who_were_not_notified_yet_are(brand, batch, other, part):
    known, both, new = (factories.customer(brand) for _ in range(3))
    for customer, code in (
        (known, batch.codes.get(code="TEA-0005")),
        (both, batch.codes.get(code="TEA-0005")),
        (both, other.codes.first()),
        (new, other.codes.first()),
    ):
        scan(code, user=customer)
    runner.run(notifications.start(recall=part, by=None).pk)

    add_codes(part, Part(fresh(other)))
    runner.run(notifications.start(recall=part, by=None).pk)

    notified = Notification.objects.filter(key=notifications.key_of(part)).order_by("pk").values_list("user", flat=True)
    assert list(notified)[2:] == [new.pk]
    assert sorted(notified) == sorted([known.pk, both.pk, new.pk])


def test_another_product_is_refused_as_who_was_told_of_the_first_would_not_hear_of_it(batch, jam, part):
    with pytest.raises(BatchRejected, match="Start another recall for those") as refused:
        add_codes(part, Part(fresh(jam)))

    assert "Not part of this recall: Jam." in refused.value.message
    assert ends(part) == [("Tea", "TEA-0004", "TEA-0006")]


def test_a_batch_that_is_of_no_product_counts_with_those_of_its_codes(brand, batch, jam, part):
    mixed = factories.batch(brand, quantity=2, product=None, range_name="Mixed")
    mixed.codes.update(product=batch.product)
    add_codes(part, Part(fresh(mixed)))
    lone = recalls.recall_batch(batch=factories.batch(brand, product=None), at=timezone.now(), **TEXTS)
    late = factories.batch(brand, quantity=2, product=None)
    late.codes.filter(pk=late.codes.latest("pk").pk).update(product=jam.product)

    for recall in (part, lone):
        with pytest.raises(BatchRejected, match="Jam"):
            add_codes(recall, Part(fresh(late)))
    assert [name for name, _first, _last in ends(part)] == ["Mixed", "Tea"]


# --- In the portal


def test_staff_add_codes_in_the_same_steps_and_type_the_number(client, brand, batch, other, part):
    scan(other.codes.first(), user=factories.customer(brand))
    where = f"{address(RECALL, 'add-codes', part.pk)}?kind=batches&batches={other.pk}"
    assert address(RECALL, "add-codes", part.pk) in text(client.get(address(RECALL, "change", part.pk)))
    assert 'name="product"' in text(page_of(client, part))

    page = client.get(where)
    assert [each.batch.range_name for each in page.context["summary"].scope.parts] == ["Cups"]
    assert "Stop using it." in text(page)
    assert 'name="message"' not in text(page)
    assert page.context["preview"].customers == 1
    shown = page.context["form"].initial
    sent = {**{name: shown[name] for name in ("previewed", "confirmed_scope")}, "notify_customers": "on"}
    wrong = client.post(where, {**sent, "reason": "More glass", "confirmation": "2"})
    assert "Enter 1 to send" in text(wrong)
    assert ends(part) == [("Tea", "TEA-0004", "TEA-0006")]
    nothing = client.post(where, {**sent, "confirmation": "1"})
    assert list(nothing.context["form"].errors) == ["reason"]

    answer = client.post(where, {**sent, "reason": "More glass", "confirmation": "1"})

    assert answer["Location"] == address(RECALL, "change", part.pk)
    assert ends(part) == [("Cups", "", ""), ("Tea", "TEA-0004", "TEA-0006")]
    assert Job.objects.get(kind="notify-recall").parameters == {"recall": part.pk}
    assert AuditLogEntry.objects.filter(action__contains="Codes added").exists()
    again = client.post(where, {**sent, "reason": "More glass", "confirmation": "1"})
    assert again["Location"] == address(RECALL, "change", part.pk)
    assert Job.objects.filter(kind="notify-recall").count() == 1


def test_the_rest_of_a_batch_and_of_a_product_can_be_chosen(client, brand, batch, part):
    free = factories.batch(brand, product=batch.product, range_name="Free")
    whole = page_of(client, part, kind="product", product=batch.product_id)
    some = page_of(client, part, kind="range", batch=batch.pk, first="7", last="8")
    gap = page_of(client, part, kind="range", batch=batch.pk, first="9", last="10")
    same = page_of(client, part, kind="range", batch=batch.pk, first="4", last="6")

    assert [each.batch for each in whole.context["summary"].scope.parts] == [batch, free]
    assert [each.ends for each in some.context["summary"].scope.parts] == [("TEA-0007", "TEA-0008")]
    assert list(gap.context["form"].errors) == ["first"]
    assert list(same.context["form"].errors) == ["batch"]


def test_the_first_step_says_at_its_field_that_another_product_needs_another_recall(client, batch, jam, part):
    for field, query in (
        ("product", {"kind": "product", "product": jam.product_id}),
        ("batches", {"kind": "batches", "batches": [jam.pk]}),
        ("batch", {"kind": "range", "batch": jam.pk, "first": "1", "last": "2"}),
    ):
        page = page_of(client, part, **query)
        assert list(page.context["form"].errors) == [field]
        assert "Start another recall for those." in text(page)
        assert "summary" not in page.context


def test_a_new_recall_says_where_the_rest_of_a_batch_is_added(client, batch, part):
    page = client.get(address(RECALL, "add"), {"kind": "batches", "batches": [batch.pk]})

    assert "To add codes to a recall, open its page." in text(page)


@pytest.mark.parametrize(("role", "status"), [("owner", 200), ("manager", 200), ("support", 403), ("printer", 403)])
def test_who_may_recall_may_add(brand, part, role, status):
    client = browser(staff(brand, role=role))

    assert page_of(client, part).status_code == status
    assert (address(RECALL, "add-codes", part.pk) in text(client.get(address(RECALL, "change", part.pk)))) == (
        status == 200
    )


def test_another_brands_recall_and_batches_do_not_exist(client, part):
    zebra = factories.batch(factories.brand(), range_name="zebra")
    foreign = recalls.recall_batch(batch=zebra, at=timezone.now(), **TEXTS)
    free = factories.batch(zebra.brand, range_name="zebra too")

    assert page_of(client, foreign).status_code == 404
    page = page_of(client, part, kind="batches", batches=[free.pk])
    assert "summary" not in page.context
    assert "zebra" not in text(page)


def test_codes_of_a_second_brand_of_the_same_staff_are_not_added(brand, part):
    second = factories.brand()
    person = staff(brand, second)
    free = factories.batch(second, range_name="zebra")

    page = page_of(browser(person), part, kind="batches", batches=[free.pk])

    assert re.search(r"zebra|Select a valid choice", text(page))
    assert "summary" not in page.context
