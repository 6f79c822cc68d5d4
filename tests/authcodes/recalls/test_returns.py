"""Returned pieces: entered by staff, never changed, and added up."""

import uuid
from datetime import timedelta

import pytest
from django.contrib.messages import get_messages
from django.db import IntegrityError, connection, transaction
from django.db.utils import ProgrammingError
from django.utils import timezone

from authcodes.admin.recalls.pages import RecallAdmin
from authcodes.errors import BatchRejected
from authcodes.models.batches import Recall
from authcodes.models.recalls import RecallReturn
from authcodes.recalls import recalls, returns
from brands.audit_log import AuditContext
from brands.models.audit import AuditLogEntry
from loyalty.members import erasure
from tests.support import factories
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def recall(brand):
    texts = {"recall_id": "R-7", "contact": "call us", "message": "Stop.", "reason": "Glass"}
    return recalls.recall_batch(batch=factories.batch(brand), at=timezone.now() - timedelta(days=3), **texts)


@pytest.fixture
def client(brand):
    return browser(staff(brand))


def today(brand):
    return brand.day_at(timezone.now())


def enter(recall, pieces, **details):
    values = {"returned_on": today(recall.brand), "note": "", "form_id": uuid.uuid4(), **details}
    return returns.enter(recall=recall, pieces=pieces, by=staff(recall.brand), at=timezone.now(), **values)


def test_returns_are_added_up_and_corrected_by_negative_entries(recall):
    enter(recall, 12)
    enter(recall, 5)
    enter(recall, -2, note="Counted twice")

    assert returns.of(recall).pieces == 15
    assert [line.pieces for line in returns.of(recall).lines] == [-2, 5, 12]


def test_correction_cannot_exceed_the_returned_pieces(recall):
    enter(recall, 3)

    with pytest.raises(BatchRejected, match="at most 3") as rejected:
        enter(recall, -4)

    assert rejected.value.details["field"] == "pieces"


def test_days_in_the_future_and_before_the_recall_are_rejected(recall):
    for days in (1, -4):
        with pytest.raises(BatchRejected) as rejected:
            enter(recall, 1, returned_on=today(recall.brand) + timedelta(days=days))
        assert rejected.value.details["field"] == "returned_on"


def test_posting_the_same_form_twice_enters_one_return(client, recall):
    data = {"pieces": 4, "returned_on": today(recall.brand), "note": "Bern", "form_id": uuid.uuid4()}

    for _time in range(2):
        assert client.post(address("authcodes.recall", "returns", recall.pk), data).status_code == 302

    assert RecallReturn.objects.get().pieces == 4
    assert "4 pieces came back" in text(client.get(address("authcodes.recall", "change", recall.pk)))


def test_posting_the_same_form_with_other_pieces_asks_for_another_line(client, recall):
    url, form_id = address("authcodes.recall", "returns", recall.pk), uuid.uuid4()
    data = {"pieces": 4, "returned_on": today(recall.brand), "note": "Bern", "form_id": form_id}
    client.post(url, data)
    entries = AuditLogEntry.objects.count()
    client.post(url, data)
    assert AuditLogEntry.objects.count() == entries, "the second post changed something"

    answer = client.post(url, {**data, "pieces": 6})

    assert "These pieces have already been entered" in text(answer)
    assert RecallReturn.objects.get().pieces == 4

    other_line = {**data, "pieces": 2, "form_id": answer.context["return_form"]["form_id"].value()}
    for _time in range(2):
        assert client.post(url, other_line).status_code == 302
    assert returns.of(recall).pieces == 6


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("pieces", "x"),
        ("pieces", "0"),
        ("pieces", "9" * 40),
        ("pieces", "٣"),
        ("returned_on", "yesterday"),
        ("returned_on", "9999-99-99"),
        ("note", "x" * 501),
    ],
)
def test_invalid_input_is_reported_at_its_field_and_retained(client, recall, field, value):
    data = {"pieces": "4", "returned_on": str(today(recall.brand)), "note": "Bern", "form_id": str(uuid.uuid4())}

    answer = client.post(address("authcodes.recall", "returns", recall.pk), {**data, field: value})

    form = answer.context["return_form"]
    assert list(form.errors) == [field]
    assert {name: form[name].value() for name in data} == {**data, field: value}
    assert not RecallReturn.objects.exists()


@pytest.mark.parametrize(("role", "status"), [("owner", 302), ("manager", 302), ("support", 403), ("printer", 403)])
def test_entering_returns_requires_permission_to_recall(brand, recall, role, status):
    data = {"pieces": 4, "returned_on": today(brand), "form_id": uuid.uuid4()}

    answer = browser(staff(brand, role=role)).post(address("authcodes.recall", "returns", recall.pk), data)

    assert (answer.status_code, RecallReturn.objects.count()) == (status, int(status == 302))


def test_recall_of_another_brand_answers_404(recall):
    data = {"pieces": 4, "returned_on": today(recall.brand), "form_id": uuid.uuid4()}
    client = browser(staff(factories.brand()))

    assert client.post(address("authcodes.recall", "returns", recall.pk), data).status_code == 404


@pytest.mark.parametrize("statement", ["UPDATE {} SET pieces = 1", "DELETE FROM {}"])
def test_stored_returns_cannot_be_changed_or_deleted(recall, statement):
    enter(recall, 3)

    with connection.as_owner(), pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement.format("authcodes_recallreturn"))
    with pytest.raises(ProgrammingError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement.format("authcodes_recallreturn"))


@pytest.mark.parametrize("name", ["change", "notify", "withdraw"])
def test_pages_redirect_to_the_list_if_the_recall_is_withdrawn_concurrently(client, recall, monkeypatch, name):
    get_object, owner = RecallAdmin.get_object, staff(recall.brand)

    def get_and_withdraw(*arguments):
        row = get_object(*arguments)
        recalls.withdraw_recall(recall=recall, reason="Safe", at=timezone.now(), by=owner)
        return row

    monkeypatch.setattr(RecallAdmin, "get_object", get_and_withdraw)

    answer = client.get(address("authcodes.recall", name, recall.pk))

    assert (answer.status_code, answer["Location"]) == (302, address("authcodes.recall", "changelist"))
    assert "This recall has been withdrawn." in str(next(iter(get_messages(answer.wsgi_request))))


@pytest.mark.parametrize("is_before_post", [False, True])
def test_input_is_retained_if_the_recall_is_withdrawn_concurrently(client, recall, monkeypatch, is_before_post):
    get_object, owner = RecallAdmin.get_object, staff(recall.brand)
    url = address("authcodes.recall", "returns", recall.pk)
    data = {"pieces": 4, "returned_on": today(recall.brand), "note": "Bern", "form_id": uuid.uuid4()}

    def withdraw(row):
        recalls.withdraw_recall(recall=recall, reason="Safe", at=timezone.now(), by=owner)
        return row

    if is_before_post:
        withdraw(recall)
    else:
        monkeypatch.setattr(RecallAdmin, "get_object", lambda *arguments: withdraw(get_object(*arguments)))
    answer = client.post(url, data)

    page = text(answer)
    assert answer.status_code == 200
    assert "This recall has been withdrawn." in page
    assert 'value="Bern"' in page
    assert 'value="4"' in page
    assert not RecallReturn.objects.exists()
    other_browser = browser(staff(factories.brand()))
    assert other_browser.post(url, data).status_code == 404


def test_repeated_post_after_the_withdrawal_reports_the_earlier_entry(client, recall):
    url = address("authcodes.recall", "returns", recall.pk)
    data = {"pieces": 4, "returned_on": today(recall.brand), "note": "Bern", "form_id": uuid.uuid4()}
    client.post(url, data)
    recalls.withdraw_recall(recall=recall, reason="Safe", at=timezone.now(), by=staff(recall.brand))

    assert "The pieces were entered before it was withdrawn." in text(client.post(url, data))
    assert "The pieces were not entered." in text(client.post(url, {**data, "form_id": uuid.uuid4()}))


def test_returns_are_retained_after_the_withdrawal(client, recall):
    enter(recall, 3)
    withdrawn_recall = recalls.withdraw_recall(recall=recall, reason="Safe", at=timezone.now(), by=staff(recall.brand))

    page = text(client.get(address("authcodes.withdrawnrecall", "change", withdrawn_recall.pk)))

    assert RecallReturn.objects.get().pieces == 3
    assert "eturned pieces" in page


def test_erasure_removes_the_customers_data_from_notes_of_returns(brand, recall):
    customer = factories.customer(brand, email="wilma@example.com")
    enter(recall, 3, note="From wilma@example.com")

    erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now()))

    assert "wilma" not in RecallReturn.objects.get().note


def test_erasure_removes_the_customers_data_from_texts_of_withdrawn_recalls(brand):
    customer = factories.customer(brand, email="wilma@example.com", first_name="Wilma", last_name="Flint")
    customer_data = "Wilma Flint, wilma@example.com"
    first_recall = recalls.recall_batch(
        batch=factories.batch(brand),
        recall_id="R-8",
        contact="Ask Wilma Flint",
        message=f"Bring it to {customer_data}",
        reason=f"Reported by {customer_data}",
        at=timezone.now(),
    )
    Recall.objects.filter(pk=first_recall.pk).update(translations={"de": {"message": f"Zu {customer_data}"}})
    withdrawn_recall = recalls.withdraw_recall(
        recall=first_recall, reason=f"Not so, says {customer_data}", at=timezone.now(), by=staff(brand)
    )
    recall_in_force = recalls.recall_batch(
        batch=factories.batch(brand), recall_id="R-9", contact="x", message="y", reason=customer_data, at=timezone.now()
    )

    erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now()))

    withdrawn_recall.refresh_from_db()
    recall_in_force.refresh_from_db()
    texts = [
        withdrawn_recall.contact,
        withdrawn_recall.message,
        withdrawn_recall.reason,
        withdrawn_recall.withdrawal_reason,
        str(withdrawn_recall.translations),
        recall_in_force.reason,
    ]
    assert [text for text in texts if "wilma" in text.lower()] == []
    assert withdrawn_recall.message.startswith("Bring it to ")
    assert withdrawn_recall.translations["de"]["message"].startswith("Zu ")
