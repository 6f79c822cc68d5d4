"""Assigning codes and switching them off, and the history of it all."""

from threading import Barrier
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
from authcodes.models.scans import Scan
from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext
from jobs import runner
from jobs.models import Job
from tests.support import factories
from tests.support.concurrency import at_once
from tests.support.statements import altered


@pytest.fixture
def batch(brand):
    """Ten codes AB-0001 to AB-0010 that have no product yet."""
    return factories.batch(brand, prefix="AB-", quantity=10, assigned=False)


def change(batch, kind, first=1, last=10, *, by=None, reason="", **given):
    assignment = Assignment(**given) if given else None
    codes = resolve_range(batch=batch, first=str(first), last=str(last))
    return bulk_changes.change(
        codes=codes, requested=CodeChangeRequest(kind, reason, assignment), by=by, at=timezone.now()
    )


def assign(batch, first=1, last=10, **given):
    return change(batch, Kind.ASSIGNED, first, last, **{"product": factories.product(batch.brand), **given})


def scan(code):
    return scanning.scan(scanned=code, about=ScanContext(at=timezone.now()))


def told(batch):
    """The history of a batch's codes since they were made, the latest first."""
    lines = batch.changes.exclude(kind="generated")
    return [(line.kind, line.first_code, line.last_code, line.codes) for line in lines]


def test_switching_codes_off_and_on_counts_what_changed(brand):
    codes = list(factories.batch(brand, quantity=3).codes.all())

    assert factories.deactivate(codes=codes[:2], at=timezone.now()) == 2
    assert factories.deactivate(codes=codes, at=timezone.now()) == 1
    assert factories.reactivate(codes=codes[:1], at=timezone.now()) == 1
    assert AuthCode.objects.deactivated().count() == 2


def test_a_stretch_is_assigned_by_one_update_and_one_line_of_history(batch, owner):
    product = factories.product(batch.brand)

    with CaptureQueriesContext(connection) as asked:
        given = {"inventory_location": "Shelf 4", "points_per_scan": 7, "notes": "first pallet"}
        assert assign(batch, 3, 5, product=product, by=owner, **given) == 3

    assert len([query for query in asked if "UPDATE authcodes_authcode" in query["sql"]]) == 1
    assigned = AuthCode.objects.filter(product=product).order_by("code")
    assert [code.code for code in assigned] == ["AB-0003", "AB-0004", "AB-0005"]
    assert {(it.inventory_location, it.points_per_scan, it.notes) for it in assigned} == {
        ("Shelf 4", 7, "first pallet")
    }
    line = batch.changes.get(kind="assigned")
    assert (line.first_code, line.last_code, line.codes) == ("AB-0003", "AB-0005", 3)
    assert (line.product, line.changed_by, line.brand) == (product, owner, batch.brand)
    assert line.detail == "Inventory location: Shelf 4\nPoints per scan: 7\nNotes: first pallet"


def test_what_is_left_empty_stays_on_the_codes(batch):
    product = factories.product(batch.brand)
    assign(batch, product=product, inventory_location="Shelf 4", points_per_scan=7, notes="first")

    assert assign(batch, product=product, notes="second") == 10

    assert {(it.inventory_location, it.points_per_scan, it.notes) for it in batch.codes.all()} == {
        ("Shelf 4", 7, "second")
    }


def test_a_stretch_with_a_code_of_another_product_is_refused_whole(batch):
    assign(batch, 5, 5)

    with pytest.raises(BatchRejected, match="Auth code range already assigned: 1 of the codes"):
        assign(batch, 4, 6)

    assert AuthCode.objects.filter(product__isnull=False).count() == 1
    assert len(told(batch)) == 1


def test_an_action_with_an_id_is_done_once(batch):
    order = CodeChangeRequest(Kind.DEACTIVATED, "stolen")
    codes, action_id = resolve_range(batch=batch, first="1", last="10"), uuid4()

    done = [
        bulk_changes.change(codes=codes, requested=order, by=None, at=timezone.now(), action_id=action_id)
        for _ in range(2)
    ]

    assert done == [10, 0]
    assert told(batch) == [("deactivated", "AB-0001", "AB-0010", 10)]


def test_a_stretch_is_switched_off_and_on_and_counts_what_changed(batch, owner):
    assert change(batch, Kind.DEACTIVATED, 1, 4, by=owner, reason=" stolen ") == 4
    assert change(batch, Kind.DEACTIVATED, 1, 10, by=owner, reason="all of it") == 6
    assert change(batch, Kind.REACTIVATED, 9, 10, by=owner, reason="found") == 2
    assert change(batch, Kind.REACTIVATED, 9, 10, by=owner, reason="again") == 0

    assert AuthCode.objects.deactivated().count() == 8
    assert told(batch) == [
        ("reactivated", "AB-0009", "AB-0010", 2),
        ("deactivated", "AB-0001", "AB-0010", 6),
        ("deactivated", "AB-0001", "AB-0004", 4),
    ]
    assert [line.reason for line in batch.changes.filter(changed_by=owner)] == ["found", "all of it", "stolen"]


def test_an_assignment_is_taken_back_but_for_what_staff_noted(batch):
    assign(batch, points_per_scan=7, inventory_location="Shelf 4")

    assert change(batch, Kind.UNASSIGNED, reason="wrong product") == 10

    code = batch.codes.first()
    assert (code.product, code.points_per_scan, code.inventory_location) == (None, None, "Shelf 4")


def test_scanned_codes_keep_their_product(batch):
    assign(batch)
    scan("AB-0004")

    with pytest.raises(BatchRejected, match="1 of the codes have been scanned"):
        change(batch, Kind.UNASSIGNED, reason="wrong product")

    assert batch.codes.filter(product__isnull=True).count() == 0
    assert change(batch, Kind.UNASSIGNED, 5, 10, reason="wrong product") == 6


def test_chosen_codes_share_an_action_and_have_a_line_for_each_run(brand, batch, owner):
    other = factories.batch(brand, prefix="CD-", quantity=2)
    codes = [*batch.codes.filter(code__in=["AB-0001", "AB-0002", "AB-0009"]), *other.codes.all()]

    assert factories.deactivate(codes=codes, at=timezone.now(), reason="stolen", by=owner) == 5

    lines = CodeChange.objects.filter(kind="deactivated").order_by("first_code")
    assert [(line.first_code, line.last_code, line.codes) for line in lines] == [
        ("AB-0001", "AB-0002", 2),
        ("AB-0009", "AB-0009", 1),
        ("CD-0001", "CD-0002", 2),
    ]
    assert len({line.action_id for line in lines}) == 1
    assert {(line.reason, line.changed_by) for line in lines} == {("stolen", owner)}


def test_chosen_codes_are_assigned_all_or_none(batch):
    order = CodeChangeRequest(Kind.ASSIGNED, assignment=Assignment(factories.product(batch.brand)))
    codes = list(batch.codes.all())
    assign(batch, 10, 10)

    with pytest.raises(BatchRejected, match="Auth code range already assigned"):
        bulk_changes.change_codes(codes=codes, requested=order, by=None, at=timezone.now())
    assert bulk_changes.change_codes(codes=codes[:0:-1], requested=order, by=None, at=timezone.now()) == 9


@pytest.mark.parametrize("many", [10, 1000])
def test_chosen_codes_cost_the_same_statements_however_many(brand, django_assert_num_queries, many):
    codes = list(factories.batch(brand, prefix="AB-", quantity=many).codes.all())

    with django_assert_num_queries(8):  # savepoint, turn, update, codes, history, audit log, webhooks, release
        factories.deactivate(codes=codes, at=timezone.now(), reason="stolen")


def test_edited_code_is_noted(batch, owner):
    code = batch.codes.first()

    bulk_changes.edit_code(code=code, changed={"notes": "scratched"}, by=owner, at=timezone.now())

    line = batch.changes.get(kind="edited")
    assert (line.first_code, line.codes, line.detail) == (code.code, 1, "notes: empty \u2192 scratched")


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


def test_a_large_stretch_is_changed_by_a_job_and_only_once(batch, owner):
    product = factories.product(batch.brand)
    order = CodeChangeRequest(Kind.ASSIGNED, assignment=Assignment(product, "Shelf 4", 7, "note"))
    job = bulk_changes.start_change(codes=resolve_range(batch=batch, first="2", last="9"), requested=order, by=owner)

    runner.run(job.pk)
    Job.objects.update(status="queued")
    runner.run(job.pk)

    job.refresh_from_db()
    assert (job.status, job.percent, job.kind) == ("done", 100, "change-codes")
    assert [line.partition(" ")[2] for line in job.log.splitlines()] == [
        "8 codes changed.",
        "8 codes changed.",
    ]
    assert AuthCode.objects.filter(product=product, inventory_location="Shelf 4", points_per_scan=7).count() == 8
    assert told(batch) == [("assigned", "AB-0002", "AB-0009", 8)]
    assert batch.changes.get(kind="assigned").changed_by == owner


def test_a_job_cancelled_before_it_begins_changes_nothing(batch, owner):
    job = bulk_changes.start_change(
        codes=resolve_range(batch=batch, first="1", last="10"),
        requested=CodeChangeRequest(Kind.DEACTIVATED, "stolen"),
        by=owner,
    )
    Job.objects.update(cancel_requested=True)

    runner.run(job.pk)

    job.refresh_from_db()
    assert (job.status, AuthCode.objects.deactivated().exists()) == ("cancelled", False)


class Cancelling(runner.Run):
    """Somebody cancels the job when some codes are done."""

    def progress(self, done, total):
        if done:
            raise runner.JobCancelledError
        super().progress(done, total)


def test_codes_are_switched_off_part_by_part_and_a_new_attempt_goes_on(batch, owner, monkeypatch):
    monkeypatch.setattr(bulk_changes, "CODES_AT_ONCE", 4)
    whole = resolve_range(batch=batch, first="1", last="10")
    job = bulk_changes.start_change(codes=whole, requested=CodeChangeRequest(Kind.DEACTIVATED, "stolen"), by=owner)

    Job.objects.update(status="running", attempts=1)
    with pytest.raises(runner.JobCancelledError):
        bulk_changes.run_change(Cancelling(Job.objects.get()))
    assert told(batch) == [("deactivated", "AB-0001", "AB-0004", 4)]
    assert batch.codes.deactivated().count() == 4

    Job.objects.update(status="queued")
    runner.run(job.pk)
    job.refresh_from_db()
    assert (job.status, job.log.partition(" ")[2]) == ("done", "10 codes changed.\n")
    assert told(batch) == [
        ("deactivated", "AB-0009", "AB-0010", 2),
        ("deactivated", "AB-0005", "AB-0008", 4),
        ("deactivated", "AB-0001", "AB-0004", 4),
    ]
    assert len(set(batch.changes.filter(kind="deactivated").values_list("action_id"))) == 1


def test_an_assignment_by_a_job_is_one_transaction(batch, owner, monkeypatch):
    monkeypatch.setattr(bulk_changes, "CODES_AT_ONCE", 4)
    order = CodeChangeRequest(Kind.ASSIGNED, assignment=Assignment(factories.product(batch.brand)))
    job = bulk_changes.start_change(codes=resolve_range(batch=batch, first="1", last="10"), requested=order, by=owner)

    runner.run(job.pk)

    assert told(batch) == [("assigned", "AB-0001", "AB-0010", 10)]


def test_a_job_that_meets_assigned_codes_fails_and_changes_nothing(batch, owner):
    order = CodeChangeRequest(Kind.ASSIGNED, assignment=Assignment(factories.product(batch.brand)))
    job = bulk_changes.start_change(codes=resolve_range(batch=batch, first="1", last="10"), requested=order, by=owner)
    assign(batch, 10, 10)

    runner.run(job.pk)

    job.refresh_from_db()
    assert job.status == "failed"
    assert "Auth code range already assigned" in job.log
    assert batch.codes.filter(product__isnull=False).count() == 1


RIVALS = 8


def race_of_assignments():
    """Eight people give the same ten codes to eight products. Returns what came of it, and who has the codes."""
    brand = factories.brand()
    batch = factories.batch(brand, prefix="AB-", quantity=10, assigned=False)
    products = [factories.product(brand) for _ in range(RIVALS)]
    codes = resolve_range(batch=batch, first="1", last="10")
    together = Barrier(RIVALS)

    def take(product):
        order = CodeChangeRequest(Kind.ASSIGNED, assignment=Assignment(product))
        together.wait()
        return bulk_changes.change(codes=codes, requested=order, by=None, at=timezone.now())

    results = at_once(take, products)
    return results, set(batch.codes.values_list("product", flat=True)), batch


@pytest.mark.django_db(transaction=True)
def test_of_rival_assignments_one_wins_whole():
    results, owners, batch = race_of_assignments()

    assert sorted(result for result in results if not isinstance(result, Exception)) == [10]
    assert len(owners) == 1
    assert batch.changes.filter(kind="assigned").count() == 1


@pytest.mark.django_db(transaction=True)
def test_control_without_the_condition_every_rival_believes_it_won(monkeypatch):
    guard = "AND (product_id IS NULL OR product_id = %(product)s::bigint)"
    blind = altered(bulk_changes.CHANGE_RANGE[Kind.ASSIGNED], (guard, ""))
    monkeypatch.setitem(bulk_changes.CHANGE_RANGE, Kind.ASSIGNED, blind)

    results, _owners, _batch = race_of_assignments()

    assert results == [10] * RIVALS


def race_with_scans(assign_all):
    """A batch is assigned while its unlimited codes are scanned. Returns its codes."""
    brand = factories.brand()
    product = factories.product(brand)
    batch = factories.batch(brand, prefix="AB-", quantity=4, product=product, scan_limit=None)
    names = [code.code for code in batch.codes.all()] * 40

    def work(name):
        return assign_all(batch, product) if name is None else scan(name)

    results = at_once(work, [None, *names, None], threads=8)
    assert [result for result in results if isinstance(result, Exception)] == []
    return list(batch.codes.all())


@pytest.mark.django_db(transaction=True)
def test_scans_during_an_assignment_are_all_counted():
    def give(batch, product):
        return [assign(batch, 1, 4, product=product, notes=f"round {number}") for number in range(30)]

    codes = race_with_scans(give)

    accepted = Scan.objects.filter(outcome="success").count()
    assert accepted == 160
    assert sum(code.scan_count for code in codes) == accepted
    assert {code.notes for code in codes} == {"round 29"}


@pytest.mark.django_db(transaction=True)
def test_control_saving_what_was_read_before_loses_scans():
    def give(batch, product):
        for _ in range(30):
            for code in batch.codes.all():
                code.product = product
                code.save()

    codes = race_with_scans(give)

    assert sum(code.scan_count for code in codes) < Scan.objects.filter(outcome="success").count()


def test_product_no_longer_sold_is_given_to_no_codes(brand):
    batch = factories.batch(brand, assigned=False)
    order = CodeChangeRequest(Kind.ASSIGNED, assignment=Assignment(factories.product(brand, is_active=False)))

    with pytest.raises(BatchRejected, match="This product is no longer sold"):
        bulk_changes.change_codes(codes=list(batch.codes.all()), requested=order, by=None, at=timezone.now())

    assert not AuthCode.objects.filter(product__isnull=False).exists()
