"""Concurrent changes of many codes, and changes during scans."""

from threading import Barrier

import pytest
from django.utils import timezone

from authcodes.codes import bulk_changes
from authcodes.codes.bulk_changes import Assignment, CodeChangeRequest, Kind
from authcodes.codes.ranges import resolve_range
from authcodes.models.scans import Scan
from tests.authcodes.codes.conftest import assign, scan
from tests.support import factories
from tests.support.concurrency import run_concurrently
from tests.support.statements import with_replacements

COMPETITORS = 8


def run_competing_assignments():
    """Assigns ten codes to eight products concurrently. Returns the results, the codes' products and the batch."""
    brand = factories.brand()
    batch = factories.batch(brand, prefix="AB-", quantity=10, assigned=False)
    products = [factories.product(brand) for _ in range(COMPETITORS)]
    codes = resolve_range(batch=batch, first="1", last="10")
    barrier = Barrier(COMPETITORS)

    def assign_to(product):
        request = CodeChangeRequest(Kind.ASSIGNED, assignment=Assignment(product))
        barrier.wait()
        return bulk_changes.change(codes=codes, requested=request, by=None, at=timezone.now())

    results = run_concurrently(assign_to, products)
    return results, set(batch.codes.values_list("product", flat=True)), batch


@pytest.mark.django_db(transaction=True)
def test_only_one_of_several_competing_assignments_succeeds():
    results, product_ids, batch = run_competing_assignments()

    assert sorted(result for result in results if not isinstance(result, Exception)) == [10]
    assert len(product_ids) == 1
    assert batch.changes.filter(kind="assigned").count() == 1


@pytest.mark.django_db(transaction=True)
def test_control_without_the_condition_every_assignment_reports_success(monkeypatch):
    condition = "AND (product_id IS NULL OR product_id = %(product)s::bigint)"
    without_condition = with_replacements(bulk_changes.CHANGE_RANGE[Kind.ASSIGNED], (condition, ""))
    monkeypatch.setitem(bulk_changes.CHANGE_RANGE, Kind.ASSIGNED, without_condition)

    results, _product_ids, _batch = run_competing_assignments()

    assert results == [10] * COMPETITORS


def assign_during_scans(assign_all):
    """A batch is assigned while its unlimited codes are scanned. Returns its codes."""
    brand = factories.brand()
    product = factories.product(brand)
    batch = factories.batch(brand, prefix="AB-", quantity=4, product=product, scan_limit=None)
    names = [code.code for code in batch.codes.all()] * 40

    def perform(name):
        return assign_all(batch, product) if name is None else scan(name)

    results = run_concurrently(perform, [None, *names, None], threads=8)
    assert [result for result in results if isinstance(result, Exception)] == []
    return list(batch.codes.all())


@pytest.mark.django_db(transaction=True)
def test_scans_during_an_assignment_are_all_counted():
    def assign_repeatedly(batch, product):
        return [assign(batch, 1, 4, product=product, notes=f"round {number}") for number in range(30)]

    codes = assign_during_scans(assign_repeatedly)

    accepted = Scan.objects.filter(outcome="success").count()
    assert accepted == 160
    assert sum(code.scan_count for code in codes) == accepted
    assert {code.notes for code in codes} == {"round 29"}


@pytest.mark.django_db(transaction=True)
def test_control_saving_stale_rows_loses_scans():
    def assign_repeatedly(batch, product):
        for _ in range(30):
            for code in batch.codes.all():
                code.product = product
                code.save()

    codes = assign_during_scans(assign_repeatedly)

    assert sum(code.scan_count for code in codes) < Scan.objects.filter(outcome="success").count()
