"""Changes of many codes meet each other and scans."""

from threading import Barrier

import pytest
from django.utils import timezone

from authcodes.codes import bulk_changes
from authcodes.codes.bulk_changes import Assignment, CodeChangeRequest, Kind
from authcodes.codes.ranges import resolve_range
from authcodes.models.scans import Scan
from tests.authcodes.codes.conftest import assign, scan
from tests.support import factories
from tests.support.concurrency import at_once
from tests.support.statements import altered

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
