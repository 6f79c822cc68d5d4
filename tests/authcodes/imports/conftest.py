"""A product, its codes and helpers that upload, check and commit files of codes."""

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
STORED_FIELDS = ("code", "product_id", "inventory_location", "location", "notes", "points_per_scan")


@pytest.fixture
def product(brand):
    return factories.product(brand, sku="SKU-A")


@pytest.fixture
def codes(brand):
    """A0001 to A0020, not assigned to a product."""
    factories.batch(brand, assigned=False, quantity=20, prefix="A")
    return AuthCode.objects.filter(brand=brand)


def staff_member(brand, role="owner"):
    user = factories.user(is_staff=True)
    StaffRole.objects.create(user=user, brand=brand, role=role)
    return user


def unchecked_import(brand, product, content, by=None):
    """An import that has not been checked yet. With a product it is a list, without one it is a file of ranges."""
    content = content.encode() if isinstance(content, str) else content
    return uploads.upload(
        brand=brand,
        kind="list" if product else "ranges",
        product=product,
        file=ContentFile(content),
        name="codes.csv",
        by=by or staff_member(brand),
    )


def checked_import(brand, product, content, by=None):
    """An import that has been checked."""
    upload = unchecked_import(brand, product, content, by)
    runner.run(Job.objects.get(kind="check-import", parameters__import_id=upload.pk).pk)
    upload.refresh_from_db()
    return upload


def csv_of(header, *lines):
    return "\n".join([header, *lines]) + "\n"


def run_commit(upload, *, skip_bad=False):
    job = commit.commit(upload=upload, skip_bad=skip_bad, by=upload.uploaded_by)
    runner.run(job.pk)
    upload.refresh_from_db()
    job.refresh_from_db()
    return job


def row_errors(upload):
    rows = ImportRow.objects.filter(upload=upload).exclude(error="")
    return {row.line: (row.error_column, row.problem) for row in rows}


def stored_values(codes):
    return list(codes.order_by("code").values_list(*STORED_FIELDS))
