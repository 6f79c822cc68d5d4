"""A product, its codes and files of them, as the tests of imports upload and commit them."""

import pytest
from django.core.files.base import ContentFile

from authcodes.imports import commit, uploads
from authcodes.models.codes import AuthCode
from authcodes.models.imports import ImportRow
from brands.models.people import StaffRole
from jobs import runner
from jobs.models import Job
from tests.support import factories

LIST = "auth_code,inventory_location,notes"
RANGES = "product_sku,auth_code_start,auth_code_end,location,points_per_scan"
HELD = ("code", "product_id", "inventory_location", "location", "notes", "points_per_scan")


@pytest.fixture
def product(brand):
    return factories.product(brand, sku="SKU-A")


@pytest.fixture
def codes(brand):
    """A0001 to A0020, of no product."""
    factories.batch(brand, assigned=False, quantity=20, prefix="A")
    return AuthCode.objects.filter(brand=brand)


def member(brand, role="owner"):
    person = factories.user(is_staff=True)
    StaffRole.objects.create(user=person, brand=brand, role=role)
    return person


def unchecked(brand, product, content, by=None):
    """An import whose check is yet to run; with a product it is a list."""
    content = content.encode() if isinstance(content, str) else content
    return uploads.upload(
        brand=brand,
        kind="list" if product else "ranges",
        product=product,
        file=ContentFile(content),
        name="codes.csv",
        by=by or member(brand),
    )


def uploaded(brand, product, content, by=None):
    """An import whose check has run."""
    made = unchecked(brand, product, content, by)
    runner.run(Job.objects.get(kind="check-import", parameters__import_id=made.pk).pk)
    made.refresh_from_db()
    return made


def csv_of(header, *lines):
    return "\n".join([header, *lines]) + "\n"


def committed(upload, *, skip_bad=False):
    job = commit.commit(upload=upload, skip_bad=skip_bad, by=upload.uploaded_by)
    runner.run(job.pk)
    upload.refresh_from_db()
    job.refresh_from_db()
    return job


def errors(upload):
    rows = ImportRow.objects.filter(upload=upload).exclude(error="")
    return {row.line: (row.error_column, row.problem) for row in rows}


def held(codes):
    return list(codes.order_by("code").values_list(*HELD))
