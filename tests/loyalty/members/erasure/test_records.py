"""The audit log, the ledger and the history forget an erased person's name, and nothing else."""

from decimal import Decimal
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from authcodes.codes import bulk_changes, history
from authcodes.models.code_history import CodeChange
from brands import audit_log
from brands.audit_log import AuditContext, AuditedChange
from brands.models.audit import AuditLogEntry
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.notifications import preferences
from loyalty.points import adjustments
from tests.loyalty.members.erasure.conftest import EMAIL, FIRST, LAST, PHONE, TRACES, by_system, erase, traces
from tests.support import factories
from tests.support.portal import staff


def test_trail_tells_that_somebody_was_erased_and_not_who(api, person, brand):
    erase(person, brand)

    entry = AuditLogEntry.objects.get(action="Personal data erased")
    assert (entry.reason, entry.brand) == ("Asked by letter", brand)
    assert entry.row_id == str(UserPoints.objects.get(brand=brand).pk)
    assert EMAIL not in entry.row_name


@pytest.mark.parametrize("column", ["action", "row_id", "request_id"])
def test_trail_changes_nothing_but_names_even_while_it_erases(person, brand, column):
    audit_log.record(audit_context=by_system(), action="Changed", rows=[AuditedChange(person, brand.pk)])

    with pytest.raises(IntegrityError), transaction.atomic(), connection.as_owner(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('audit.erasing', 'on', true)")
        cursor.execute(f"UPDATE brands_auditlogentry SET {column} = 'other'")
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE brands_auditlogentry SET row_name = 'other'")


def wrote(brand, person, reason):
    """What staff write of a customer, where they write freely."""
    colleague = staff(brand)
    batch = factories.batch(brand)
    account = factories.account(person, brand)
    deed = AuditContext(colleague, timezone.now(), reason=reason)
    adjustments.adjust(account=account, points=Decimal(5), key=uuid4(), audit_context=deed)
    audit_log.record(audit_context=deed, action="Points added", rows=[AuditedChange(account, brand.pk)])
    audit_log.record(audit_context=deed, action="Changed", rows=[AuditedChange(batch, brand.pk)])
    note = history.CodeChangeContext(CodeChange.Kind.DEACTIVATED, timezone.now(), colleague, reason=reason)
    history.note_batch(note, batch=batch)
    code = factories.code(brand)
    changed = {"notes": reason, "location": f"With {FIRST} {LAST}"}
    bulk_changes.edit_code(code=code, changed=changed, by=colleague, at=timezone.now())


def test_what_staff_wrote_names_nobody_any_more(brand, person):
    preferences.change(person.pk, brand.pk, at=timezone.now(), phone=PHONE)
    wrote(brand, person, f"{FIRST} {LAST} <{EMAIL.upper()}> called from +41 79 123 45 67; Quistgaard, Wilhelmina it is")
    factories.points(person, brand, 1)

    erase(person, brand)

    assert traces(*TRACES, "123 45 67") == []
    notes = LoyaltyTransaction.objects.filter(note__contains="called from")
    assert [note.points_earned for note in notes] == [5]
    assert "it is" in notes.get().note


def test_a_word_that_is_a_name_too_stays_where_others_are_meant(brand):
    rose = factories.customer(brand, email="rose@example.com", first_name="Rose", last_name="Good")
    batch = factories.batch(brand)
    kept = "Good batch of rose soap"
    history.note_batch(history.CodeChangeContext(CodeChange.Kind.DEACTIVATED, timezone.now(), reason=kept), batch=batch)
    factories.points(rose, brand, 1)

    erase(rose, brand)

    assert CodeChange.objects.filter(reason=kept).exists()


def test_the_ledger_and_the_history_refuse_everything_else_while_a_person_is_erased(brand, person):
    factories.points(person, brand, 5)
    factories.batch(brand)
    statements = [
        "UPDATE loyalty_transaction SET points_earned = 6",
        "DELETE FROM loyalty_transaction",
        "UPDATE authcodes_codechange SET codes = 9",
        "DELETE FROM authcodes_codechange",
    ]
    erasing = "SELECT set_config('ledger.erasing', 'on', true), set_config('codes.erasing', 'on', true)"
    for statement in statements:
        refused = pytest.raises(IntegrityError, match="append-only")
        with refused, transaction.atomic(), connection.as_owner(), connection.cursor() as cursor:
            cursor.execute(erasing)
            cursor.execute(statement)
