"""Files of codes that another company printed, as staff upload and commit them."""

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
def other(db):
    return factories.brand()


def member(brand, role="owner"):
    person = factories.user(is_staff=True)
    StaffRole.objects.create(user=person, brand=brand, role=role)
    return person


def uploaded(brand, *lines, by=None, name="Old labels", content=None, **settings):
    """An import whose check has run."""
    product = settings.pop("product", None) or factories.product(brand)
    made = uploads.upload(
        brand=brand,
        kind="printed",
        product=product,
        file=ContentFile(content if content is not None else "\n".join([HEADER, *lines, ""]).encode()),
        name="codes.csv",
        by=by or member(brand),
        batch_settings=BatchSettings(name, 1, signed=False, **settings),
    )
    run("check-import", made)
    return made


def run(kind, upload):
    job = Job.objects.filter(kind=kind, parameters__import_id=upload.pk).latest("pk")
    runner.run(job.pk)
    job.refresh_from_db()
    upload.refresh_from_db()
    return job


def committed(upload, *, skip_bad=False):
    commit.commit(upload=upload, skip_bad=skip_bad, by=upload.uploaded_by)
    return run("commit-import", upload)


def errors(upload):
    return {
        row.line: (row.error_column, row.problem) for row in ImportRow.objects.filter(upload=upload).exclude(error="")
    }


OLD = "https://old.example/p/K7F3"
