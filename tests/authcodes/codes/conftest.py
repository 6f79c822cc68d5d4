"""A batch and helpers that change its codes."""

import pytest
from django.utils import timezone

from authcodes.codes import bulk_changes
from authcodes.codes.bulk_changes import Assignment, CodeChangeRequest, Kind
from authcodes.codes.ranges import resolve_range
from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext
from tests.support import factories


@pytest.fixture
def batch(brand):
    """Ten codes AB-0001 to AB-0010 that have no product yet."""
    return factories.batch(brand, prefix="AB-", quantity=10, assigned=False)


def change(batch, kind, first=1, last=10, *, by=None, reason="", **assignment_fields):
    assignment = Assignment(**assignment_fields) if assignment_fields else None
    codes = resolve_range(batch=batch, first=str(first), last=str(last))
    return bulk_changes.change(
        codes=codes, requested=CodeChangeRequest(kind, reason, assignment), by=by, at=timezone.now()
    )


def assign(batch, first=1, last=10, **assignment_fields):
    return change(batch, Kind.ASSIGNED, first, last, **{"product": factories.product(batch.brand), **assignment_fields})


def scan(code):
    return scanning.scan(scanned=code, context=ScanContext(at=timezone.now()))


def changes_of(batch):
    """The history of a batch's codes since they were generated, newest first."""
    lines = batch.changes.exclude(kind="generated")
    return [(line.kind, line.first_code, line.last_code, line.codes) for line in lines]
