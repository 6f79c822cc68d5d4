"""Pieces that came back: entered by hand, never changed, counted together."""

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
    return timezone.now().astimezone(brand.zone).date()


def enter(recall, pieces, **more):
    values = {"returned_on": today(recall.brand), "note": "", "form_id": uuid.uuid4(), **more}
    return returns.enter(recall=recall, pieces=pieces, by=staff(recall.brand), at=timezone.now(), **values)


def test_lines_are_counted_together_and_corrected_by_another(recall):
    enter(recall, 12)
    enter(recall, 5)
    enter(recall, -2, note="Counted twice")

    assert returns.of(recall).pieces == 15
    assert [line.pieces for line in returns.of(recall).lines] == [-2, 5, 12]


def test_no_more_is_taken_off_than_there_is(recall):
    enter(recall, 3)

    with pytest.raises(BatchRejected, match="at most 3") as refused:
        enter(recall, -4)

    assert refused.value.details["field"] == "pieces"


def test_days_to_come_and_before_the_recall_are_refused(recall):
    for days in (1, -4):
        with pytest.raises(BatchRejected) as refused:
            enter(recall, 1, returned_on=today(recall.brand) + timedelta(days=days))
        assert refused.value.details["field"] == "returned_on"


def test_a_page_that_is_sent_twice_is_one_line(client, recall):
    sent = {"pieces": 4, "returned_on": today(recall.brand), "note": "Bern", "form_id": uuid.uuid4()}

    for _time in range(2):
        assert client.post(address("authcodes.recall", "returns", recall.pk), sent).status_code == 302

    assert RecallReturn.objects.get().pieces == 4
    assert "4 pieces came back" in text(client.get(address("authcodes.recall", "change", recall.pk)))


def test_a_page_that_is_sent_again_with_other_pieces_says_that_the_first_were_entered(client, recall):
    where, form_id = address("authcodes.recall", "returns", recall.pk), uuid.uuid4()
    sent = {"pieces": 4, "returned_on": today(recall.brand), "note": "Bern", "form_id": form_id}
    client.post(where, sent)
    noted = AuditLogEntry.objects.count()
    client.post(where, sent)
    assert AuditLogEntry.objects.count() == noted, "what was sent twice happened once"

    answer = client.post(where, {**sent, "pieces": 6})

    assert "These pieces have already been entered" in text(answer)
    assert RecallReturn.objects.get().pieces == 4


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
def test_bad_input_is_said_at_its_field_and_loses_nothing(client, recall, field, value):
    sent = {"pieces": "4", "returned_on": str(today(recall.brand)), "note": "Bern", "form_id": str(uuid.uuid4())}

    answer = client.post(address("authcodes.recall", "returns", recall.pk), {**sent, field: value})

    form = answer.context["return_form"]
    assert list(form.errors) == [field]
    assert {name: form[name].value() for name in sent} == {**sent, field: value}
    assert not RecallReturn.objects.exists()


@pytest.mark.parametrize(("role", "status"), [("owner", 302), ("manager", 302), ("support", 403), ("printer", 403)])
def test_who_may_recall_enters_them(brand, recall, role, status):
    sent = {"pieces": 4, "returned_on": today(brand), "form_id": uuid.uuid4()}

    answer = browser(staff(brand, role=role)).post(address("authcodes.recall", "returns", recall.pk), sent)

    assert (answer.status_code, RecallReturn.objects.count()) == (status, int(status == 302))


def test_another_brands_recall_does_not_exist(recall):
    sent = {"pieces": 4, "returned_on": today(recall.brand), "form_id": uuid.uuid4()}
    client = browser(staff(factories.brand()))

    assert client.post(address("authcodes.recall", "returns", recall.pk), sent).status_code == 404


@pytest.mark.parametrize("statement", ["UPDATE {} SET pieces = 1", "DELETE FROM {}"])
def test_lines_stay_as_they_are(recall, statement):
    enter(recall, 3)

    with connection.as_owner(), pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement.format("authcodes_recallreturn"))
    with pytest.raises(ProgrammingError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement.format("authcodes_recallreturn"))


@pytest.mark.parametrize("name", ["change", "notify", "withdraw"])
def test_a_page_of_a_recall_that_is_withdrawn_meanwhile_says_so_on_the_list(client, recall, monkeypatch, name):
    find, owner = RecallAdmin.get_object, staff(recall.brand)

    def found_in_time(*arguments):
        row = find(*arguments)
        recalls.withdraw_recall(recall=recall, reason="Safe", at=timezone.now(), by=owner)
        return row

    monkeypatch.setattr(RecallAdmin, "get_object", found_in_time)

    answer = client.get(address("authcodes.recall", name, recall.pk))

    assert (answer.status_code, answer["Location"]) == (302, address("authcodes.recall", "changelist"))
    assert "This recall has been withdrawn." in str(next(iter(get_messages(answer.wsgi_request))))


@pytest.mark.parametrize("is_late", [False, True])
def test_what_was_typed_for_a_recall_that_is_withdrawn_meanwhile_is_kept(client, recall, monkeypatch, is_late):
    find, owner = RecallAdmin.get_object, staff(recall.brand)
    where = address("authcodes.recall", "returns", recall.pk)
    sent = {"pieces": 4, "returned_on": today(recall.brand), "note": "Bern", "form_id": uuid.uuid4()}

    def withdrawn(row):
        recalls.withdraw_recall(recall=recall, reason="Safe", at=timezone.now(), by=owner)
        return row

    if is_late:
        withdrawn(recall)
    else:
        monkeypatch.setattr(RecallAdmin, "get_object", lambda *arguments: withdrawn(find(*arguments)))
    answer = client.post(where, sent)

    shown = text(answer)
    assert answer.status_code == 200
    assert "This recall has been withdrawn." in shown
    assert 'value="Bern"' in shown
    assert 'value="4"' in shown
    assert not RecallReturn.objects.exists()
    other = browser(staff(factories.brand()))
    assert other.post(where, sent).status_code == 404


def test_pieces_that_are_sent_again_after_the_withdrawal_were_entered_before_it(client, recall):
    where = address("authcodes.recall", "returns", recall.pk)
    sent = {"pieces": 4, "returned_on": today(recall.brand), "note": "Bern", "form_id": uuid.uuid4()}
    client.post(where, sent)
    recalls.withdraw_recall(recall=recall, reason="Safe", at=timezone.now(), by=staff(recall.brand))

    assert "The pieces were entered before it was withdrawn." in text(client.post(where, sent))
    assert "The pieces were not entered." in text(client.post(where, {**sent, "form_id": uuid.uuid4()}))


def test_they_outlive_the_recall(client, recall):
    enter(recall, 3)
    kept = recalls.withdraw_recall(recall=recall, reason="Safe", at=timezone.now(), by=staff(recall.brand))

    page = text(client.get(address("authcodes.withdrawnrecall", "change", kept.pk)))

    assert RecallReturn.objects.get().pieces == 3
    assert "eturned pieces" in page


def test_an_erased_person_is_no_longer_named_in_a_note(brand, recall):
    customer = factories.customer(brand, email="wilma@example.com")
    enter(recall, 3, note="From wilma@example.com")

    erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now()))

    assert "wilma" not in RecallReturn.objects.get().note


def test_an_erased_person_is_no_longer_named_in_the_texts_of_a_withdrawn_recall(brand):
    customer = factories.customer(brand, email="wilma@example.com", first_name="Wilma", last_name="Flint")
    named = "Wilma Flint, wilma@example.com"
    made = recalls.recall_batch(
        batch=factories.batch(brand),
        recall_id="R-8",
        contact="Ask Wilma Flint",
        message=f"Bring it to {named}",
        reason=f"Reported by {named}",
        at=timezone.now(),
    )
    Recall.objects.filter(pk=made.pk).update(translations={"de": {"message": f"Zu {named}"}})
    kept = recalls.withdraw_recall(recall=made, reason=f"Not so, says {named}", at=timezone.now(), by=staff(brand))
    other = recalls.recall_batch(
        batch=factories.batch(brand), recall_id="R-9", contact="x", message="y", reason=named, at=timezone.now()
    )

    erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now()))

    kept.refresh_from_db()
    other.refresh_from_db()
    texts = [kept.contact, kept.message, kept.reason, kept.withdrawal_reason, str(kept.translations), other.reason]
    assert [text for text in texts if "wilma" in text.lower()] == []
    assert kept.message.startswith("Bring it to ")
    assert kept.translations["de"]["message"].startswith("Zu ")
