"""Assigning, unassigning, deactivating and reactivating codes, and the history of these changes."""

from uuid import uuid4

import pytest
from django.db import DatabaseError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from authcodes.codes import bulk_changes
from authcodes.codes.bulk_changes import Assignment, CodeChangeRequest, Kind
from authcodes.codes.ranges import resolve_range
from authcodes.errors import BatchRejected
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from tests.authcodes.codes.conftest import assign, change, changes_of, scan
from tests.support import factories


def test_deactivating_and_reactivating_count_only_changed_codes(brand):
    codes = list(factories.batch(brand, quantity=3).codes.all())

    assert factories.deactivate(codes=codes[:2], at=timezone.now()) == 2
    assert factories.deactivate(codes=codes, at=timezone.now()) == 1
    assert factories.reactivate(codes=codes[:1], at=timezone.now()) == 1
    assert AuthCode.objects.deactivated().count() == 2


def test_code_range_is_assigned_with_one_update_and_one_history_entry(batch, owner):
    product = factories.product(batch.brand)

    with CaptureQueriesContext(connection) as queries:
        fields = {"inventory_location": "Shelf 4", "points_per_scan": 7, "notes": "first pallet"}
        assert assign(batch, 3, 5, product=product, by=owner, **fields) == 3

    assert len([query for query in queries if "UPDATE authcodes_authcode" in query["sql"]]) == 1
    assigned = AuthCode.objects.filter(product=product).order_by("code")
    assert [code.code for code in assigned] == ["AB-0003", "AB-0004", "AB-0005"]
    assert {(code.inventory_location, code.points_per_scan, code.notes) for code in assigned} == {
        ("Shelf 4", 7, "first pallet")
    }
    entry = batch.changes.get(kind="assigned")
    assert (entry.first_code, entry.last_code, entry.codes) == ("AB-0003", "AB-0005", 3)
    assert (entry.product, entry.changed_by, entry.brand) == (product, owner, batch.brand)
    assert entry.detail == "Inventory location: Shelf 4\nPoints per scan: 7\nNotes: first pallet"


def test_empty_fields_of_an_assignment_leave_the_codes_values(batch):
    product = factories.product(batch.brand)
    assign(batch, product=product, inventory_location="Shelf 4", points_per_scan=7, notes="first")

    assert assign(batch, product=product, notes="second") == 10

    assert {(code.inventory_location, code.points_per_scan, code.notes) for code in batch.codes.all()} == {
        ("Shelf 4", 7, "second")
    }


def test_code_range_with_a_code_of_another_product_is_rejected_entirely(batch):
    assign(batch, 5, 5)

    with pytest.raises(BatchRejected, match="Auth code range already assigned: 1 of the codes"):
        assign(batch, 4, 6)

    assert AuthCode.objects.filter(product__isnull=False).count() == 1
    assert len(changes_of(batch)) == 1


def test_change_with_an_action_id_is_applied_once(batch):
    request = CodeChangeRequest(Kind.DEACTIVATED, "stolen")
    codes, action_id = resolve_range(batch=batch, first="1", last="10"), uuid4()

    counts = [
        bulk_changes.change(codes=codes, requested=request, by=None, at=timezone.now(), action_id=action_id)
        for _ in range(2)
    ]

    assert counts == [10, 0]
    assert changes_of(batch) == [("deactivated", "AB-0001", "AB-0010", 10)]


def test_deactivating_a_code_range_counts_only_changed_codes(batch, owner):
    assert change(batch, Kind.DEACTIVATED, 1, 4, by=owner, reason=" stolen ") == 4
    assert change(batch, Kind.DEACTIVATED, 1, 10, by=owner, reason="all of it") == 6
    assert change(batch, Kind.REACTIVATED, 9, 10, by=owner, reason="found") == 2
    assert change(batch, Kind.REACTIVATED, 9, 10, by=owner, reason="again") == 0

    assert AuthCode.objects.deactivated().count() == 8
    assert changes_of(batch) == [
        ("reactivated", "AB-0009", "AB-0010", 2),
        ("deactivated", "AB-0001", "AB-0010", 6),
        ("deactivated", "AB-0001", "AB-0004", 4),
    ]
    assert [entry.reason for entry in batch.changes.filter(changed_by=owner)] == ["found", "all of it", "stolen"]


def test_unassigning_clears_product_and_points_but_not_the_location(batch):
    assign(batch, points_per_scan=7, inventory_location="Shelf 4")

    assert change(batch, Kind.UNASSIGNED, reason="wrong product") == 10

    code = batch.codes.first()
    assert (code.product, code.points_per_scan, code.inventory_location) == (None, None, "Shelf 4")


def test_scanned_codes_cannot_be_unassigned(batch):
    assign(batch)
    scan("AB-0004")

    with pytest.raises(BatchRejected, match="1 of the codes has been scanned"):
        change(batch, Kind.UNASSIGNED, reason="wrong product")

    assert batch.codes.filter(product__isnull=True).count() == 0
    assert change(batch, Kind.UNASSIGNED, 5, 10, reason="wrong product") == 6


def test_selected_codes_share_an_action_with_one_entry_per_run(brand, batch, owner):
    other = factories.batch(brand, prefix="CD-", quantity=2)
    codes = [*batch.codes.filter(code__in=["AB-0001", "AB-0002", "AB-0009"]), *other.codes.all()]

    assert factories.deactivate(codes=codes, at=timezone.now(), reason="stolen", by=owner) == 5

    lines = CodeChange.objects.filter(kind="deactivated").order_by("first_code")
    assert [(entry.first_code, entry.last_code, entry.codes) for entry in lines] == [
        ("AB-0001", "AB-0002", 2),
        ("AB-0009", "AB-0009", 1),
        ("CD-0001", "CD-0002", 2),
    ]
    assert len({entry.action_id for entry in lines}) == 1
    assert {(entry.reason, entry.changed_by) for entry in lines} == {("stolen", owner)}


def test_selected_codes_are_assigned_all_or_none(batch):
    request = CodeChangeRequest(Kind.ASSIGNED, assignment=Assignment(factories.product(batch.brand)))
    codes = list(batch.codes.all())
    assign(batch, 10, 10)

    with pytest.raises(BatchRejected, match="Auth code range already assigned"):
        bulk_changes.change_codes(codes=codes, requested=request, by=None, at=timezone.now())
    assert bulk_changes.change_codes(codes=codes[:0:-1], requested=request, by=None, at=timezone.now()) == 9


@pytest.mark.parametrize("code_count", [10, 1000])
def test_statement_count_does_not_grow_with_the_selected_codes(brand, django_assert_num_queries, code_count):
    codes = list(factories.batch(brand, prefix="AB-", quantity=code_count).codes.all())

    with django_assert_num_queries(8):  # savepoint, lock, update, codes, history, audit log, webhooks, release
        factories.deactivate(codes=codes, at=timezone.now(), reason="stolen")


def test_edited_code_is_in_the_history(batch, owner):
    code = batch.codes.first()

    bulk_changes.edit_code(code=code, changed={"notes": "scratched"}, by=owner, at=timezone.now())

    entry = batch.changes.get(kind="edited")
    assert (entry.first_code, entry.codes, entry.detail) == (code.code, 1, "notes: empty \u2192 scratched")


@pytest.mark.parametrize(
    "statement", ["UPDATE authcodes_codechange SET reason = ''", "DELETE FROM authcodes_codechange"]
)
def test_history_is_append_only(batch, statement):
    with (
        pytest.raises(DatabaseError, match="append-only"),
        transaction.atomic(),
        connection.as_owner(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


def test_product_no_longer_sold_cannot_be_assigned(brand):
    batch = factories.batch(brand, assigned=False)
    request = CodeChangeRequest(Kind.ASSIGNED, assignment=Assignment(factories.product(brand, is_active=False)))

    with pytest.raises(BatchRejected, match="This product is no longer sold"):
        bulk_changes.change_codes(codes=list(batch.codes.all()), requested=request, by=None, at=timezone.now())

    assert not AuthCode.objects.filter(product__isnull=False).exists()
