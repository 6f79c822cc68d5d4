"""Helpers that upload, check and commit files of codes that another company printed."""

import pytest
from django.core.files.base import ContentFile

from authcodes.codes.batches import BatchSettings
from authcodes.imports import commit, uploads
from authcodes.models.imports import ImportRow
from brands.models.people import StaffRole
from jobs import runner
from jobs.models import Job
from tests.support import factories

HEADER = "auth_code,payload,inventory_location,notes"


@pytest.fixture
def product(brand):
    return factories.product(brand, sku="SKU-A")


@pytest.fixture
def other_brand(db):
    return factories.brand()


def staff_member(brand, role="owner"):
    user = factories.user(is_staff=True)
    StaffRole.objects.create(user=user, brand=brand, role=role)
    return user


def checked_import(brand, *lines, by=None, name="Old labels", content=None, **settings):
    """An import that has been checked."""
    product = settings.pop("product", None) or factories.product(brand)
    upload = uploads.upload(
        brand=brand,
        kind="printed",
        product=product,
        file=ContentFile(content if content is not None else "\n".join([HEADER, *lines, ""]).encode()),
        name="codes.csv",
        by=by or staff_member(brand),
        batch_settings=BatchSettings(name, 1, signed=False, **settings),
    )
    run_job("check-import", upload)
    return upload


def run_job(kind, upload):
    job = Job.objects.filter(kind=kind, parameters__import_id=upload.pk).latest("pk")
    runner.run(job.pk)
    job.refresh_from_db()
    upload.refresh_from_db()
    return job


def run_commit(upload, *, skip_bad=False):
    commit.commit(upload=upload, skip_bad=skip_bad, by=upload.uploaded_by)
    return run_job("commit-import", upload)


def row_errors(upload):
    return {
        row.line: (row.error_column, row.problem) for row in ImportRow.objects.filter(upload=upload).exclude(error="")
    }


OLD_URL = "https://old.example/p/K7F3"
