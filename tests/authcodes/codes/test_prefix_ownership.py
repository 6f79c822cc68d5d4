"""A prefix stays reserved while batches use it, whichever brand made them, and is reserved once by its brand."""

import pytest
from django.utils import timezone

from authcodes.codes import prefixes
from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange
from authcodes.models.prefixes import CodePrefix
from brands.models.audit import AuditLogEntry
from tests.support import factories
from tests.support.portal import address, browser, errors, staff

pytestmark = pytest.mark.django_db


def test_prefix_cannot_be_released_after_it_was_moved_away_from_its_batches(brand):
    factories.batch(brand, prefix="USED-")
    reserved = CodePrefix.objects.get()
    prefixes.move(reserved=reserved, brand=factories.brand())

    with pytest.raises(BatchRejected, match="Batches use this prefix"):
        prefixes.release(reserved=CodePrefix.objects.get())
    with pytest.raises(BatchRejected, match="Batches use this prefix"):
        prefixes.release(reserved=reserved)


def test_empty_prefix_is_not_used_by_batches_printed_elsewhere(brand):
    reserved = prefixes.reserve(brand=brand, prefix="", at=timezone.now())
    batch = factories.batch(factories.brand(), prefix="X-")
    BatchRange.objects.filter(pk=batch.pk).update(prefix="", printed_elsewhere=True)

    prefixes.release(reserved=reserved)

    assert not CodePrefix.objects.filter(prefix="").exists()


def test_prefix_that_the_brand_already_has_is_rejected_and_not_logged(brand):
    prefixes.reserve(brand=brand, prefix="OWN-", at=timezone.now())

    answer = browser(staff(brand)).post(address("authcodes.codeprefix", "add"), {"brand": brand.pk, "prefix": "OWN-"})

    assert errors(answer) == {"prefix": ["Your brand has already reserved this prefix."]}
    assert not AuditLogEntry.objects.filter(kind="authcodes.codeprefix").exists()
