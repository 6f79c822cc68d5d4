"""The audit log, the ledger and the code history lose an erased customer's data, and nothing else."""

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
from tests.loyalty.members.erasure.conftest import (
    EMAIL,
    FIRST,
    LAST,
    PERSONAL_TEXTS,
    PHONE,
    erase,
    find_texts,
    system_context,
)
from tests.support import factories
from tests.support.portal import staff


def test_audit_log_records_the_erasure_without_personal_data(api, named_customer, brand):
    erase(named_customer, brand)

    entry = AuditLogEntry.objects.get(action="Personal data erased")
    assert (entry.reason, entry.brand) == ("Asked by letter", brand)
    assert entry.row_id == str(UserPoints.objects.get(brand=brand).pk)
    assert EMAIL not in entry.row_name


@pytest.mark.parametrize("column", ["action", "row_id", "request_id"])
def test_audit_log_entries_stay_immutable_during_erasure(named_customer, brand, column):
    audit_log.record(audit_context=system_context(), action="Changed", rows=[AuditedChange(named_customer, brand.pk)])

    with pytest.raises(IntegrityError), transaction.atomic(), connection.as_owner(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('audit.erasing', 'on', true)")
        cursor.execute(f"UPDATE brands_auditlogentry SET {column} = 'other'")
    with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE brands_auditlogentry SET row_name = 'other'")


def write_free_texts(brand, customer, reason):
    """Writes a text about the customer in each field where staff write freely."""
    staff_user = staff(brand)
    batch = factories.batch(brand)
    account = factories.account(customer, brand)
    audit_context = AuditContext(staff_user, timezone.now(), reason=reason)
    adjustments.adjust(account=account, points=Decimal(5), key=uuid4(), audit_context=audit_context)
    audit_log.record(audit_context=audit_context, action="Points added", rows=[AuditedChange(account, brand.pk)])
    audit_log.record(audit_context=audit_context, action="Changed", rows=[AuditedChange(batch, brand.pk)])
    change_context = history.CodeChangeContext(CodeChange.Kind.DEACTIVATED, timezone.now(), staff_user, reason=reason)
    history.note_batch(change_context, batch=batch)
    code = factories.code(brand)
    changed = {"notes": reason, "location": f"With {FIRST} {LAST}"}
    bulk_changes.edit_code(code=code, changed=changed, by=staff_user, at=timezone.now())


def test_free_texts_of_staff_lose_personal_data(brand, named_customer):
    preferences.change(named_customer.pk, brand.pk, at=timezone.now(), phone=PHONE)
    write_free_texts(
        brand,
        named_customer,
        f"{FIRST} {LAST} <{EMAIL.upper()}> called from +41 79 123 45 67; Quistgaard, Wilhelmina it is",
    )
    factories.points(named_customer, brand, 1)

    erase(named_customer, brand)

    assert find_texts(*PERSONAL_TEXTS, "123 45 67") == []
    entries = LoyaltyTransaction.objects.filter(note__contains="called from")
    assert [entry.points_earned for entry in entries] == [5]
    assert "it is" in entries.get().note


def test_long_location_of_a_code_loses_personal_data(brand):
    customer = factories.customer(brand, first_name="Bo", last_name="Ek")
    # The person stays another brand's customer, so the pseudonym is an address, which is longer than the name.
    UserPoints.objects.create(user=customer, brand=factories.brand())
    code = factories.code(brand)
    bulk_changes.edit_code(code=code, changed={"location": f"Bo Ek {'x' * 114}"}, by=staff(brand), at=timezone.now())

    erase(customer, brand)

    code.refresh_from_db()
    assert (len(code.location), code.location.endswith("xxx")) == (120, True)
    assert "Bo Ek" not in code.location


def test_ordinary_word_that_is_also_a_name_stays_in_other_texts(brand):
    rose = factories.customer(brand, email="rose@example.com", first_name="Rose", last_name="Good")
    batch = factories.batch(brand)
    reason = "Good batch of rose soap"
    history.note_batch(
        history.CodeChangeContext(CodeChange.Kind.DEACTIVATED, timezone.now(), reason=reason), batch=batch
    )
    factories.points(rose, brand, 1)

    erase(rose, brand)

    assert CodeChange.objects.filter(reason=reason).exists()


def test_ledger_and_code_history_stay_append_only_during_erasure(brand, named_customer):
    factories.points(named_customer, brand, 5)
    factories.batch(brand)
    statements = [
        "UPDATE loyalty_transaction SET points_earned = 6",
        "DELETE FROM loyalty_transaction",
        "UPDATE authcodes_codechange SET codes = 9",
        "DELETE FROM authcodes_codechange",
    ]
    enable_erasing = "SELECT set_config('ledger.erasing', 'on', true), set_config('codes.erasing', 'on', true)"
    for statement in statements:
        rejected = pytest.raises(IntegrityError, match="append-only")
        with rejected, transaction.atomic(), connection.as_owner(), connection.cursor() as cursor:
            cursor.execute(enable_erasing)
            cursor.execute(statement)
