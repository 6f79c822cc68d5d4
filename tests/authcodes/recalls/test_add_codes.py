"""Codes added to a recall in force: steps, notifications for new customers only, and withdrawal of everything."""

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
def same_product_batch(brand, batch):
    """Another batch of the same product."""
    return factories.batch(brand, quantity=3, prefix="CUP-", scan_limit=None, range_name="Cups", product=batch.product)


@pytest.fixture
def other_product_batch(brand):
    product = factories.product(brand, title="Jam")
    return factories.batch(brand, quantity=3, prefix="JAM-", scan_limit=None, range_name="Jars", product=product)


@pytest.fixture
def partial_recall(batch):
    """A recall of the codes 4 to 6 of `batch`."""
    return recalls.recall(scope=scopes.of_range(batch=batch, first="4", last="6"), at=timezone.now(), **TEXTS)


@pytest.fixture
def client(brand):
    return browser(staff(brand))


def reloaded(batch):
    return BatchRange.objects.select_related("brand", "product").get(pk=batch.pk)


def add_codes(recall, *parts, **extra):
    details = {"reason": "More glass", "at": timezone.now(), "by": staff(recall.brand), **extra}
    return recalls.add_codes(recall=recall, added=Scope(parts), **details)


def recalled_parts(recall):
    return sorted((row.range_name, row.recalled_from, row.recalled_to) for row in recall.batches.all())


def reason_of(code):
    return scanning.scan(scanned=code.code, context=ScanContext(at=timezone.now())).reason


def page_of(client, recall, **query):
    return client.get(address(RECALL, "add-codes", recall.pk), query)


def test_a_batch_and_more_codes_of_a_batch_are_added(batch, same_product_batch, partial_recall):
    assert reason_of(batch.codes.get(code="TEA-0008")) == "accepted"

    add_codes(partial_recall, Part(reloaded(batch), "TEA-0007", "TEA-0009"), Part(reloaded(same_product_batch)))

    assert recalled_parts(partial_recall) == [("Cups", "", ""), ("Tea", "TEA-0004", "TEA-0009")]
    assert [reason_of(batch.codes.get(code=f"TEA-000{number}")) for number in (3, 4, 8)] == [
        "accepted",
        "recalled",
        "recalled",
    ]
    assert reason_of(same_product_batch.codes.first()) == "recalled"
    assert Recall.objects.get().message == TEXTS["message"]


@pytest.mark.parametrize(
    ("first", "last", "stored"),
    [("5", "9", ("TEA-0004", "TEA-0009")), ("2", "3", ("TEA-0002", "TEA-0006")), ("1", "20", ("", ""))],
)
def test_added_codes_extend_an_adjacent_recalled_part(batch, partial_recall, first, last, stored):
    add_codes(partial_recall, *scopes.of_range(batch=reloaded(batch), first=first, last=last).parts)

    assert recalled_parts(partial_recall) == [("Tea", *stored)]


@pytest.mark.parametrize(
    ("first", "last", "message"),
    [("8", "9", "directly before or after"), ("1", "2", "directly before or after"), ("4", "5", "already")],
)
def test_codes_not_adjacent_or_already_recalled_are_rejected(batch, partial_recall, first, last, message):
    with pytest.raises(BatchRejected, match=message):
        add_codes(partial_recall, *scopes.of_range(batch=reloaded(batch), first=first, last=last).parts)

    assert recalled_parts(partial_recall) == [("Tea", "TEA-0004", "TEA-0006")]


def test_codes_of_another_recall_or_brand_and_missing_reasons_are_rejected(batch, same_product_batch, partial_recall):
    recalls.recall_batch(batch=same_product_batch, at=timezone.now(), **{**TEXTS, "recall_id": "R-8"})
    other_brand_batch = factories.batch(factories.brand())

    for parts, extra, message in (
        ([Part(reloaded(same_product_batch))], {}, "already recalled"),
        ([Part(reloaded(other_brand_batch))], {}, "one brand"),
        ([Part(reloaded(batch))], {"reason": " "}, "Enter a reason"),
    ):
        with pytest.raises(BatchRejected, match=message):
            add_codes(partial_recall, *parts, **extra)
    assert recalled_parts(partial_recall) == [("Tea", "TEA-0004", "TEA-0006")]


def test_added_codes_appear_in_history_and_webhooks(brand, batch, same_product_batch, partial_recall):
    WebhookEndpoint.objects.create(brand=brand, url="https://x.example.com/", types=["batch.recalled"])

    add_codes(partial_recall, Part(reloaded(batch), "TEA-0007", "TEA-0009"), Part(reloaded(same_product_batch)))

    change = batch.changes.filter(kind="recalled").latest("pk")
    assert (change.first_code, change.last_code, change.codes, change.reason) == (
        "TEA-0007",
        "TEA-0009",
        3,
        "More glass",
    )
    bodies = [event.detail["payload"]["data"] for event in Event.objects.order_by("pk") if "payload" in event.detail]
    assert {body["batch"]["id"]: body["codes"] for body in bodies} == {
        batch.pk: {"first": "TEA-0004", "last": "TEA-0009"},
        same_product_batch.pk: None,
    }


def test_withdrawing_includes_the_added_codes(brand, batch, same_product_batch, partial_recall):
    add_codes(partial_recall, Part(reloaded(same_product_batch)))

    recalls.withdraw_recall(recall=partial_recall, reason="Safe", at=timezone.now(), by=staff(brand))

    assert sorted(each.batch.range_name for each in WithdrawnRecall.objects.get().batches.all()) == ["Cups", "Tea"]
    assert reason_of(same_product_batch.codes.first()) == "accepted"
    assert not BatchRange.objects.exclude(recall=None).exists()
    with pytest.raises(BatchRejected, match="withdrawn"):
        add_codes(partial_recall, Part(reloaded(same_product_batch)))


def test_only_customers_not_yet_notified_are_notified(brand, batch, same_product_batch, partial_recall):
    notified_before, notified_with_both, not_notified = (factories.customer(brand) for _ in range(3))
    for customer, code in (
        (notified_before, batch.codes.get(code="TEA-0005")),
        (notified_with_both, batch.codes.get(code="TEA-0005")),
        (notified_with_both, same_product_batch.codes.first()),
        (not_notified, same_product_batch.codes.first()),
    ):
        scan(code, user=customer)
    runner.run(notifications.start(recall=partial_recall, by=None).pk)

    add_codes(partial_recall, Part(reloaded(same_product_batch)))
    runner.run(notifications.start(recall=partial_recall, by=None).pk)

    notified = (
        Notification.objects.filter(key=notifications.key_of(partial_recall))
        .order_by("pk")
        .values_list("user", flat=True)
    )
    assert list(notified)[2:] == [not_notified.pk]
    assert sorted(notified) == sorted([notified_before.pk, notified_with_both.pk, not_notified.pk])


def test_codes_of_another_product_are_rejected(batch, other_product_batch, partial_recall):
    with pytest.raises(BatchRejected, match="Start another recall for those") as rejected:
        add_codes(partial_recall, Part(reloaded(other_product_batch)))

    assert "Not part of this recall: Jam." in rejected.value.message
    assert recalled_parts(partial_recall) == [("Tea", "TEA-0004", "TEA-0006")]


def test_batch_without_a_product_counts_as_the_products_of_its_codes(brand, batch, other_product_batch, partial_recall):
    without_product = factories.batch(brand, quantity=2, product=None, range_name="Mixed")
    without_product.codes.update(product=batch.product)
    add_codes(partial_recall, Part(reloaded(without_product)))
    recall_without_product = recalls.recall_batch(
        batch=factories.batch(brand, product=None), at=timezone.now(), **TEXTS
    )
    batch_of_both = factories.batch(brand, quantity=2, product=None)
    batch_of_both.codes.filter(pk=batch_of_both.codes.latest("pk").pk).update(product=other_product_batch.product)

    for recall in (partial_recall, recall_without_product):
        with pytest.raises(BatchRejected, match="Jam"):
            add_codes(recall, Part(reloaded(batch_of_both)))
    assert [name for name, _first, _last in recalled_parts(partial_recall)] == ["Mixed", "Tea"]


# --- In the portal


def test_staff_add_codes_step_by_step_and_confirm_the_number_of_customers(
    client, brand, batch, same_product_batch, partial_recall
):
    scan(same_product_batch.codes.first(), user=factories.customer(brand))
    url = f"{address(RECALL, 'add-codes', partial_recall.pk)}?kind=batches&batches={same_product_batch.pk}"
    assert address(RECALL, "add-codes", partial_recall.pk) in text(
        client.get(address(RECALL, "change", partial_recall.pk))
    )
    assert 'name="product"' in text(page_of(client, partial_recall))

    page = client.get(url)
    assert [each.batch.range_name for each in page.context["summary"].scope.parts] == ["Cups"]
    assert "Stop using it." in text(page)
    assert 'name="message"' not in text(page)
    assert page.context["preview"].customers == 1
    initial = page.context["form"].initial
    data = {**{name: initial[name] for name in ("previewed", "confirmed_scope")}, "notify_customers": "on"}
    wrong_number = client.post(url, {**data, "reason": "More glass", "confirmation": "2"})
    assert "Enter 1 to send" in text(wrong_number)
    assert recalled_parts(partial_recall) == [("Tea", "TEA-0004", "TEA-0006")]
    without_reason = client.post(url, {**data, "confirmation": "1"})
    assert list(without_reason.context["form"].errors) == ["reason"]

    answer = client.post(url, {**data, "reason": "More glass", "confirmation": "1"})

    assert answer["Location"] == address(RECALL, "change", partial_recall.pk)
    assert recalled_parts(partial_recall) == [("Cups", "", ""), ("Tea", "TEA-0004", "TEA-0006")]
    assert Job.objects.get(kind="notify-recall").parameters == {"recall": partial_recall.pk}
    assert AuditLogEntry.objects.filter(action__contains="Codes added").exists()
    second_answer = client.post(url, {**data, "reason": "More glass", "confirmation": "1"})
    assert second_answer["Location"] == address(RECALL, "change", partial_recall.pk)
    assert Job.objects.filter(kind="notify-recall").count() == 1


def test_remaining_codes_of_a_batch_and_of_a_product_can_be_chosen(client, brand, batch, partial_recall):
    free_batch = factories.batch(brand, product=batch.product, range_name="Free")
    whole_product = page_of(client, partial_recall, kind="product", product=batch.product_id)
    more_codes = page_of(client, partial_recall, kind="range", batch=batch.pk, first="7", last="8")
    distant_codes = page_of(client, partial_recall, kind="range", batch=batch.pk, first="9", last="10")
    same_codes = page_of(client, partial_recall, kind="range", batch=batch.pk, first="4", last="6")

    assert [each.batch for each in whole_product.context["summary"].scope.parts] == [batch, free_batch]
    assert [each.ends for each in more_codes.context["summary"].scope.parts] == [("TEA-0007", "TEA-0008")]
    assert list(distant_codes.context["form"].errors) == ["first"]
    assert list(same_codes.context["form"].errors) == ["batch"]


def test_first_step_reports_a_batch_of_another_product_at_its_field(client, batch, other_product_batch, partial_recall):
    for field, query in (
        ("product", {"kind": "product", "product": other_product_batch.product_id}),
        ("batches", {"kind": "batches", "batches": [other_product_batch.pk]}),
        ("batch", {"kind": "range", "batch": other_product_batch.pk, "first": "1", "last": "2"}),
    ):
        page = page_of(client, partial_recall, **query)
        assert list(page.context["form"].errors) == [field]
        assert "Start another recall for those." in text(page)
        assert "summary" not in page.context


def test_page_of_a_new_recall_explains_where_codes_are_added(client, batch, partial_recall):
    page = client.get(address(RECALL, "add"), {"kind": "batches", "batches": [batch.pk]})

    assert "To add codes to a recall, open its page." in text(page)


@pytest.mark.parametrize(("role", "status"), [("owner", 200), ("manager", 200), ("support", 403), ("printer", 403)])
def test_adding_codes_requires_permission_to_recall(brand, partial_recall, role, status):
    client = browser(staff(brand, role=role))

    assert page_of(client, partial_recall).status_code == status
    assert client.post(address(RECALL, "add-codes", partial_recall.pk), {}).status_code == status
    assert (
        address(RECALL, "add-codes", partial_recall.pk)
        in text(client.get(address(RECALL, "change", partial_recall.pk)))
    ) == (status == 200)


def test_recalls_and_batches_of_another_brand_cannot_be_used(client, partial_recall):
    recalled_batch = factories.batch(factories.brand(), range_name="zebra")
    other_recall = recalls.recall_batch(batch=recalled_batch, at=timezone.now(), **TEXTS)
    free_batch = factories.batch(recalled_batch.brand, range_name="zebra too")

    assert page_of(client, other_recall).status_code == 404
    page = page_of(client, partial_recall, kind="batches", batches=[free_batch.pk])
    assert "summary" not in page.context
    assert "zebra" not in text(page)


def test_codes_of_another_brand_of_the_same_user_cannot_be_added(brand, partial_recall):
    second_brand = factories.brand()
    user = staff(brand, second_brand)
    free_batch = factories.batch(second_brand, range_name="zebra")

    page = page_of(browser(user), partial_recall, kind="batches", batches=[free_batch.pk])

    assert re.search(r"zebra|Select a valid choice", text(page))
    assert "summary" not in page.context
