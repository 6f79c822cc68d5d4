"""Recalling a batch in the portal: the summary first, one recall per batch, and withdrawal by owners only."""

import pytest
from django.contrib.messages import get_messages
from django.utils import timezone

from authcodes import errors
from authcodes.models.batches import Recall
from authcodes.models.recalls import WithdrawnRecall
from authcodes.models.scans import Scan
from authcodes.recalls import recalls
from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext
from brands.models.people import StaffRole
from jobs.models import Job
from tests.support import factories
from tests.support.portal import address, browser, scan, staff, text

pytestmark = pytest.mark.django_db
TEXTS = {"recall_id": "R-1", "contact": "call us", "message": "Stop.", "reason": "Glass"}


@pytest.fixture
def owner(brand):
    return staff(brand)


@pytest.fixture
def client(owner):
    return browser(owner)


@pytest.fixture
def batch(brand):
    return factories.batch(brand, quantity=3, range_name="Spring")


@pytest.fixture
def recall(batch):
    return recalls.recall_batch(batch=batch, at=timezone.now(), **TEXTS)


def reason_of_new_scan(code):
    """The stored reason of a new guest scan of the code."""
    scanning.scan(scanned=code.code, context=ScanContext(at=timezone.now()))
    return Scan.objects.latest("scanned_at").reason


def summary_of(answer):
    summary = answer.context["summary"]
    [batch] = summary.scope.batches
    return batch, summary.codes, summary.scanned, summary.customers


def withdraw(client, recall, reason="Wrong batch"):
    return client.post(address("authcodes.recall", "withdraw", recall.pk), {"reason": reason})


def test_batch_links_to_a_summary_of_what_a_recall_affects(client, brand, batch):
    ann, bob = factories.customer(brand), factories.customer(brand)
    one, two, _ = batch.codes.order_by("pk")
    for code, user, count in ((one, ann, 1), (one, bob, 2), (two, ann, 1)):
        scan(code, user=user, scan_count=count)
    scan(factories.code(brand), user=factories.customer(brand))
    url = address("authcodes.batchrange", "recall", batch.pk)

    assert url in text(client.get(address("authcodes.batchrange", "change", batch.pk)))
    page = client.get(url, follow=True)

    assert summary_of(page) == (batch, 3, 2, 2)
    assert "Every scan of these 3 codes will show" in text(page)
    assert "This includes customers who opted out of notifications." in text(page)
    assert not Recall.objects.exists()


def test_new_recall_begins_with_the_choice_of_its_scope(client):
    page = text(client.get(address("authcodes.recall", "add")))

    assert "All batches of a product" in page
    assert 'name="message"' not in page


def test_batch_that_is_already_recalled_cannot_be_recalled_again(client, batch, recall):
    page = text(client.get(address("authcodes.recall", "add"), {"batch": batch.pk}))

    assert "Already recalled: Spring (R-1)." in page
    assert 'name="message"' not in page


@pytest.mark.parametrize("invalid", ["x", "-1", "9" * 40, "²", "10"])
def test_invalid_batch_is_reported_at_its_field(client, invalid):
    answer = client.get(address("authcodes.recall", "add"), {"batch": invalid})

    assert list(answer.context["form"].errors) == ["batch"]
    assert 'name="message"' not in text(answer)


def test_recall_takes_effect_and_is_recorded_in_the_history_of_the_batch(client, owner, batch):
    answer = client.post(address("authcodes.recall", "add") + f"?batch={batch.pk}", {**TEXTS, "batch": batch.pk})

    recall = Recall.objects.get()
    assert answer.status_code == 302
    assert {name: getattr(recall, name) for name in TEXTS} == TEXTS
    assert (recall.batches.get(), recall.recalled_by) == (batch, owner)
    assert reason_of_new_scan(batch.codes.first()) == "recalled"
    assert "Recalled: R-1" in text(client.get(address("authcodes.batchrange", "history", batch.pk)))


def test_texts_without_a_scope_recall_nothing(client):
    answer = client.post(address("authcodes.recall", "add"), TEXTS)

    assert [str(message) for message in answer.context["messages"]] == [
        "Nothing has been recalled yet. Choose what to recall first."
    ]
    assert not Recall.objects.exists()


@pytest.mark.parametrize("missing", list(TEXTS))
def test_recall_requires_all_its_texts(client, batch, missing):
    url = address("authcodes.recall", "add") + f"?batch={batch.pk}"

    answer = client.post(url, {**TEXTS, "batch": batch.pk, missing: ""})

    assert list(answer.context["form"].errors) == [missing]
    assert not Recall.objects.exists()


def test_recalled_batch_offers_no_second_recall(client, batch, recall):
    page = text(client.get(address("authcodes.batchrange", "change", batch.pk)))

    assert address("authcodes.batchrange", "recall", batch.pk) not in page
    assert client.get(address("authcodes.batchrange", "recall", batch.pk)).status_code == 403


def test_recall_page_counts_later_scans_and_links_to_them(client, batch, recall):
    reason_of_new_scan(batch.codes.first())

    page = client.get(address("authcodes.recall", "change", recall.pk))

    scans_url = page.context["scans_address"]
    assert page.context["recalled_scans"] == 1
    assert [row.reason for row in client.get(scans_url).context["cl"].result_list] == ["recalled"]


def test_withdrawn_recall_retains_its_texts_and_batches(client, owner, batch, recall):
    page = client.get(address("authcodes.recall", "withdraw", recall.pk))
    withdraw(client, recall)

    withdrawn = WithdrawnRecall.objects.get()
    assert summary_of(page)[0] == batch
    assert not Recall.objects.exists()
    assert {name: getattr(withdrawn, name) for name in TEXTS} == TEXTS
    assert (withdrawn.batches.get().batch, withdrawn.withdrawn_by, withdrawn.withdrawal_reason) == (
        batch,
        owner,
        "Wrong batch",
    )
    assert withdrawn.recalled_at == recall.recalled_at
    assert reason_of_new_scan(batch.codes.first()) == "accepted"
    assert "Recall withdrawn: R-1" in text(client.get(address("authcodes.batchrange", "history", batch.pk)))


def test_batch_whose_recall_was_withdrawn_can_be_recalled_again(client, batch, recall):
    withdraw(client, recall)

    second_recall = recalls.recall_batch(batch=batch, at=timezone.now(), **{**TEXTS, "recall_id": "R-2"})

    assert (second_recall.recall_id, WithdrawnRecall.objects.count()) == ("R-2", 1)


@pytest.mark.parametrize("reason", ["", "  "])
def test_withdrawing_requires_a_reason(client, recall, reason):
    assert list(withdraw(client, recall, reason).context["form"].errors) == ["reason"]
    assert Recall.objects.exists()


def test_a_withdrawn_recall_cannot_be_withdrawn_again(owner, recall):
    recalls.withdraw_recall(recall=recall, reason="first", at=timezone.now(), by=owner)

    with pytest.raises(errors.BatchRejected, match="already been withdrawn"):
        recalls.withdraw_recall(recall=recall, reason="second", at=timezone.now(), by=owner)

    assert WithdrawnRecall.objects.get().withdrawal_reason == "first"


@pytest.mark.parametrize("role", ["manager", "printer", "support"])
def test_only_owners_can_withdraw_a_recall(brand, recall, role):
    client = browser(staff(brand, role=role))

    page = client.get(address("authcodes.recall", "change", recall.pk))

    assert address("authcodes.recall", "withdraw", recall.pk) not in text(page)
    assert withdraw(client, recall).status_code == 403
    assert Recall.objects.exists()


def test_owner_of_another_brand_cannot_withdraw_as_a_manager(recall, brand):
    user = staff(factories.brand())
    StaffRole.objects.create(user=user, brand=brand, role="manager")

    assert withdraw(browser(user), recall).status_code == 403


def test_recalls_and_batches_of_another_brand_are_not_available(client):
    other_batch = factories.batch(factories.brand(), range_name="zebra")
    recall = recalls.recall_batch(batch=other_batch, at=timezone.now(), **TEXTS)
    free_batch = factories.batch(other_batch.brand, range_name="zebra too")

    urls = [address("authcodes.recall", action, recall.pk) for action in ("withdraw", "affected")]

    assert [client.post(url, {"reason": "x"}).status_code for url in urls] == [404, 404]
    assert "zebra" not in text(client.get(address("authcodes.recall", "add") + f"?batch={free_batch.pk}"))
    assert client.get(address("authcodes.batchrange", "recall", free_batch.pk)).status_code in {403, 404}
    assert Recall.objects.exists()


@pytest.mark.parametrize(("role", "status"), [("owner", 302), ("manager", 302), ("support", 403), ("printer", 403)])
def test_roles_have_the_documented_permission_to_export_affected_customers(brand, recall, role, status):
    user = staff(brand, role=role)

    answer = browser(user).post(address("authcodes.recall", "affected", recall.pk), {"format": "xlsx"})

    assert answer.status_code == status
    assert Job.objects.count() == (status == 302)
    if status == 302:
        job = Job.objects.get()
        assert (job.kind, job.parameters["format"], job.created_by) == ("export-affected", "xlsx", user)


def test_get_request_does_not_export_affected_customers(client, recall):
    assert client.get(address("authcodes.recall", "affected", recall.pk)).status_code == 405
    assert not Job.objects.exists()


def test_error_is_displayed_if_the_recall_was_withdrawn_concurrently(client, owner, recall, monkeypatch):
    real_withdraw = recalls.withdraw_recall

    def withdraw_twice(**texts):
        real_withdraw(**{**texts, "reason": "faster"})
        return real_withdraw(**texts)

    monkeypatch.setattr(recalls, "withdraw_recall", withdraw_twice)

    answer = withdraw(client, recall)

    assert [str(message) for message in get_messages(answer.wsgi_request)] == [
        "This recall has already been withdrawn."
    ]


def test_withdrawn_recalls_are_listed_with_their_texts(client, owner, batch, recall):
    withdraw(client, recall)
    withdrawn = WithdrawnRecall.objects.get()

    [listed] = client.get(address("authcodes.withdrawnrecall")).context["cl"].result_list
    page = text(client.get(address("authcodes.withdrawnrecall", "change", withdrawn.pk)))

    assert listed == withdrawn
    assert all(expected_text in page for expected_text in (*TEXTS.values(), "Wrong batch", owner.email))


def test_withdrawn_recalls_are_read_only(client, recall):
    withdraw(client, recall)
    withdrawn = WithdrawnRecall.objects.get()

    assert client.get(address("authcodes.withdrawnrecall", "add")).status_code == 403
    assert client.post(address("authcodes.withdrawnrecall", "delete", withdrawn.pk), {"post": "yes"}).status_code == 403
