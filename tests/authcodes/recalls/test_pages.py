"""Calling a batch back in the portal: first what it changes, then once, and back by an owner only."""

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


def reason_now(code):
    """The true reason of the answer to a guest who scans it now."""
    scanning.scan(scanned=code.code, context=ScanContext(at=timezone.now()))
    return Scan.objects.latest("scanned_at").reason


def facts(answer):
    found = answer.context["summary"]
    [batch] = found.scope.batches
    return batch, found.codes, found.scanned, found.customers


def withdraw(client, recall, reason="Wrong batch"):
    return client.post(address("authcodes.recall", "withdraw", recall.pk), {"reason": reason})


def test_batch_leads_to_the_page_that_says_what_a_recall_changes(client, brand, batch):
    ann, bob = factories.customer(brand), factories.customer(brand)
    one, two, _ = batch.codes.order_by("pk")
    for code, user, count in ((one, ann, 1), (one, bob, 2), (two, ann, 1)):
        scan(code, user=user, scan_count=count)
    scan(factories.code(brand), user=factories.customer(brand))
    its = address("authcodes.batchrange", "recall", batch.pk)

    assert its in text(client.get(address("authcodes.batchrange", "change", batch.pk)))
    page = client.get(its, follow=True)

    assert facts(page) == (batch, 3, 2, 2)
    assert "Every scan of these 3 codes will show" in text(page)
    assert "This includes customers who opted out of notifications." in text(page)
    assert not Recall.objects.exists()


def test_a_new_recall_asks_first_what_is_recalled(client):
    shown = text(client.get(address("authcodes.recall", "add")))

    assert "All batches of a product" in shown
    assert 'name="message"' not in shown


def test_batch_that_is_recalled_already_is_not_asked_about_again(client, batch, recall):
    shown = text(client.get(address("authcodes.recall", "add"), {"batch": batch.pk}))

    assert "Already recalled: Spring (R-1)." in shown
    assert 'name="message"' not in shown


@pytest.mark.parametrize("nonsense", ["x", "-1", "9" * 40, "²", "10"])
def test_batch_that_cannot_be_is_asked_for_anew(client, nonsense):
    answer = client.get(address("authcodes.recall", "add"), {"batch": nonsense})

    assert list(answer.context["form"].errors) == ["batch"]
    assert 'name="message"' not in text(answer)


def test_recall_takes_hold_and_is_noted_in_the_batchs_history(client, owner, batch):
    answer = client.post(address("authcodes.recall", "add") + f"?batch={batch.pk}", {**TEXTS, "batch": batch.pk})

    recall = Recall.objects.get()
    assert answer.status_code == 302
    assert {name: getattr(recall, name) for name in TEXTS} == TEXTS
    assert (recall.batches.get(), recall.recalled_by) == (batch, owner)
    assert reason_now(batch.codes.first()) == "recalled"
    assert "Recalled: R-1" in text(client.get(address("authcodes.batchrange", "history", batch.pk)))


def test_texts_without_what_they_are_about_recall_nothing(client):
    answer = client.post(address("authcodes.recall", "add"), TEXTS)

    assert [str(message) for message in answer.context["messages"]] == [
        "Nothing has been recalled yet. Choose what to recall first."
    ]
    assert not Recall.objects.exists()


@pytest.mark.parametrize("missing", list(TEXTS))
def test_recall_needs_all_its_texts(client, batch, missing):
    its = address("authcodes.recall", "add") + f"?batch={batch.pk}"

    answer = client.post(its, {**TEXTS, "batch": batch.pk, missing: ""})

    assert list(answer.context["form"].errors) == [missing]
    assert not Recall.objects.exists()


def test_recalled_batch_offers_no_second_recall(client, batch, recall):
    page = text(client.get(address("authcodes.batchrange", "change", batch.pk)))

    assert address("authcodes.batchrange", "recall", batch.pk) not in page
    assert client.get(address("authcodes.batchrange", "recall", batch.pk)).status_code == 403


def test_recall_page_counts_scans_since_and_links_to_them(client, batch, recall):
    reason_now(batch.codes.first())

    page = client.get(address("authcodes.recall", "change", recall.pk))

    where = page.context["scans_address"]
    assert page.context["recalled_scans"] == 1
    assert [row.reason for row in client.get(where).context["cl"].result_list] == ["recalled"]


def test_owner_withdraws_a_recall_and_what_was_said_is_kept(client, owner, batch, recall):
    page = client.get(address("authcodes.recall", "withdraw", recall.pk))
    withdraw(client, recall)

    kept = WithdrawnRecall.objects.get()
    assert facts(page)[0] == batch
    assert not Recall.objects.exists()
    assert {name: getattr(kept, name) for name in TEXTS} == TEXTS
    assert (kept.batches.get().batch, kept.withdrawn_by, kept.withdrawal_reason) == (batch, owner, "Wrong batch")
    assert kept.recalled_at == recall.recalled_at
    assert reason_now(batch.codes.first()) == "accepted"
    assert "Recall withdrawn: R-1" in text(client.get(address("authcodes.batchrange", "history", batch.pk)))


def test_batch_whose_recall_was_withdrawn_can_be_recalled_again(client, batch, recall):
    withdraw(client, recall)

    again = recalls.recall_batch(batch=batch, at=timezone.now(), **{**TEXTS, "recall_id": "R-2"})

    assert (again.recall_id, WithdrawnRecall.objects.count()) == ("R-2", 1)


@pytest.mark.parametrize("reason", ["", "  "])
def test_withdrawing_needs_a_reason(client, recall, reason):
    assert list(withdraw(client, recall, reason).context["form"].errors) == ["reason"]
    assert Recall.objects.exists()


def test_recall_that_somebody_else_just_withdrew_is_withdrawn_once(owner, recall):
    recalls.withdraw_recall(recall=recall, reason="first", at=timezone.now(), by=owner)

    with pytest.raises(errors.BatchRejected, match="already been withdrawn"):
        recalls.withdraw_recall(recall=recall, reason="second", at=timezone.now(), by=owner)

    assert WithdrawnRecall.objects.get().withdrawal_reason == "first"


@pytest.mark.parametrize("role", ["manager", "printer", "support"])
def test_only_an_owner_withdraws(brand, recall, role):
    client = browser(staff(brand, role=role))

    page = client.get(address("authcodes.recall", "change", recall.pk))

    assert address("authcodes.recall", "withdraw", recall.pk) not in text(page)
    assert withdraw(client, recall).status_code == 403
    assert Recall.objects.exists()


def test_owner_elsewhere_does_not_withdraw_here(recall, brand):
    person = staff(factories.brand())
    StaffRole.objects.create(user=person, brand=brand, role="manager")

    assert withdraw(browser(person), recall).status_code == 403


def test_another_brands_recall_and_batch_do_not_exist(client):
    zebra = factories.batch(factories.brand(), range_name="zebra")
    recall = recalls.recall_batch(batch=zebra, at=timezone.now(), **TEXTS)
    free = factories.batch(zebra.brand, range_name="zebra too")

    posted = [address("authcodes.recall", what, recall.pk) for what in ("withdraw", "affected")]

    assert [client.post(where, {"reason": "x"}).status_code for where in posted] == [404, 404]
    assert "zebra" not in text(client.get(address("authcodes.recall", "add") + f"?batch={free.pk}"))
    assert client.get(address("authcodes.batchrange", "recall", free.pk)).status_code in {403, 404}
    assert Recall.objects.exists()


@pytest.mark.parametrize(("role", "status"), [("owner", 302), ("manager", 302), ("support", 403), ("printer", 403)])
def test_affected_customers_are_exported_by_those_who_may(brand, recall, role, status):
    person = staff(brand, role=role)

    answer = browser(person).post(address("authcodes.recall", "affected", recall.pk), {"format": "xlsx"})

    assert answer.status_code == status
    assert Job.objects.count() == (status == 302)
    if status == 302:
        job = Job.objects.get()
        assert (job.kind, job.parameters["format"], job.created_by) == ("export-affected", "xlsx", person)


def test_looking_at_the_export_of_affected_customers_starts_none(client, recall):
    assert client.get(address("authcodes.recall", "affected", recall.pk)).status_code == 405
    assert not Job.objects.exists()


def test_refusal_is_shown_when_somebody_was_faster(client, owner, recall, monkeypatch):
    check = recalls.withdraw_recall

    def lose(**texts):
        check(**{**texts, "reason": "faster"})
        return check(**texts)

    monkeypatch.setattr(recalls, "withdraw_recall", lose)

    answer = withdraw(client, recall)

    assert [str(message) for message in get_messages(answer.wsgi_request)] == [
        "This recall has already been withdrawn."
    ]


def test_withdrawn_recalls_are_listed_with_what_was_said(client, owner, batch, recall):
    withdraw(client, recall)
    kept = WithdrawnRecall.objects.get()

    [shown] = client.get(address("authcodes.withdrawnrecall")).context["cl"].result_list
    page = text(client.get(address("authcodes.withdrawnrecall", "change", kept.pk)))

    assert shown == kept
    assert all(expected_text in page for expected_text in (*TEXTS.values(), "Wrong batch", owner.email))


def test_withdrawn_recalls_are_for_reading(client, recall):
    withdraw(client, recall)
    kept = WithdrawnRecall.objects.get()

    assert client.get(address("authcodes.withdrawnrecall", "add")).status_code == 403
    assert client.post(address("authcodes.withdrawnrecall", "delete", kept.pk), {"post": "yes"}).status_code == 403
