"""Code ranges of a batch, and the preview of a change to them."""

import pytest
from django.utils import timezone

from authcodes.codes import batches, ranges
from authcodes.codes.batches import BatchSettings
from authcodes.errors import BatchRejected
from authcodes.models.codes import AuthCode
from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def batch(brand):
    return factories.batch(brand, prefix="AB-", quantity=10, assigned=False)


def test_code_range_has_only_codes_of_its_batch(brand, batch):
    factories.batch(brand, prefix="AB-00", number_width=3, quantity=5)

    code_range = ranges.resolve_range(batch=batch, first="AB-0003", last=" 5 ")

    assert (code_range.first, code_range.last, code_range.size) == ("AB-0003", "AB-0005", 3)
    assert sorted(code.code for code in code_range.codes) == ["AB-0003", "AB-0004", "AB-0005"]


@pytest.mark.parametrize(
    ("first", "last", "field"),
    [("AB-0000", "AB-0005", "first"), ("AB-0001", "AB-0011", "last"), ("x", "y", "first"), ("5", "4", "last")],
)
def test_invalid_code_range_is_rejected_with_its_field(batch, first, last, field):
    with pytest.raises(BatchRejected) as error:
        ranges.resolve_range(batch=batch, first=first, last=last)

    assert error.value.details == {"field": field}


def test_range_of_a_batch_still_being_generated_is_rejected(brand):
    batch_settings = BatchSettings(range_name="Slow", quantity=10, prefix="SL-", signed=False)
    batch = batches.create_batch(brand=brand, batch_settings=batch_settings, at=timezone.now())

    with pytest.raises(BatchRejected, match="still being generated"):
        ranges.resolve_range(batch=batch, first="1", last="10")


def test_change_preview_counts_and_lists_obstructing_codes(brand, batch):
    product = factories.product(brand)
    codes = list(batch.codes.order_by("code"))
    AuthCode.objects.filter(pk__in=[code.pk for code in codes[:7]]).update(product=product)
    scan.scan(scanned=codes[0].code, context=ScanContext(at=timezone.now()))
    factories.deactivate(codes=codes[8:], at=timezone.now())

    preview = ranges.preview_change(batch.codes.all(), factories.product(brand))

    assert (preview.codes, preview.assigned, preview.taken, preview.scanned, preview.deactivated) == (10, 7, 7, 1, 2)
    assert preview.taken_codes == codes[:5]
    assert preview.scanned_codes == codes[:1]
    assert ranges.preview_change(batch.codes.all(), product).taken == 0


def test_preview_of_an_unassigned_range_needs_one_query(batch, django_assert_num_queries):
    with django_assert_num_queries(1):
        ranges.preview_change(batch.codes.all())
