"""Uploaded files that wait for a confirmation do not stay in the storage for ever."""

import os
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import DatabaseError, IntegrityError, transaction
from django.utils import timezone

from authcodes.tasks import purge_orphaned_uploads
from brands.models.quotas import BrandQuota
from jobs import staged_uploads
from jobs.models import Job, StagedUpload
from portal.import_export import tables
from tests.support import factories
from tests.support.imports import upload
from tests.support.portal import browser, staff

pytestmark = pytest.mark.usefixtures("media")

LABEL = "authcodes.product"


@pytest.fixture
def staged_folder(tmp_path):
    return tmp_path / "imports" / "staged"


def backdate(path: Path, age: timedelta) -> None:
    timestamp = (timezone.now() - age).timestamp()
    os.utime(path, (timestamp, timestamp))


def test_orphaned_file_of_a_crashed_upload_is_purged(brand, staged_folder, monkeypatch):
    owner = staff(brand)

    def crash(*_args, **_kwargs):
        raise DatabaseError("the process ended here")

    with monkeypatch.context() as patch, pytest.raises(DatabaseError):
        patch.setattr(StagedUpload, "save", crash)
        upload(owner, LABEL, brand, "sku,title\nA,One\n")
    [orphan] = staged_folder.iterdir()
    assert StagedUpload.objects.count() == 0
    assert purge_orphaned_uploads() == 0, "it may belong to a request that has not committed yet"
    backdate(orphan, timedelta(days=3))

    assert purge_orphaned_uploads() == 1
    assert list(staged_folder.iterdir()) == []


def test_file_with_a_row_stays_regardless_of_its_age(brand, staged_folder):
    upload(staff(brand), LABEL, brand, "sku,title\nA,One\n")
    [file] = staged_folder.iterdir()
    backdate(file, timedelta(days=30))

    assert purge_orphaned_uploads() == 0
    assert list(staged_folder.iterdir()) == [file]


def test_purge_without_any_upload_deletes_nothing():
    assert staged_uploads.purge_orphans(at=timezone.now()) == 0


def test_upload_without_a_user_or_key_is_rejected_by_the_database(brand):
    with pytest.raises(IntegrityError), transaction.atomic():
        StagedUpload.objects.create(
            brand=brand, resource=LABEL, file_name="x", file_bytes=0, sha256="", expires_at=timezone.now()
        )


def test_erasure_of_a_customer_purges_all_uploads_of_the_brand(
    brand, staged_folder, django_capture_on_commit_callbacks
):
    owner, other_brand = staff(brand), factories.brand()
    response = upload(owner, LABEL, brand, "sku,title\nA,One\n")
    upload(staff(other_brand), LABEL, other_brand, "sku,title\nA,One\n")
    now = timezone.now()

    staged_uploads.expire(brand_id=brand.pk, at=now)

    assert browser(owner).get(response["Location"]).status_code == 400
    with django_capture_on_commit_callbacks(execute=True):
        assert staged_uploads.purge(at=now) == 1
    assert StagedUpload.objects.get().brand == other_brand
    assert len(list(staged_folder.iterdir())) == 1


@pytest.mark.django_db(transaction=True)
def test_file_is_not_stored_when_no_job_can_start(staged_folder, monkeypatch):
    brand = factories.brand()
    monkeypatch.setattr(tables, "MAX_ROWS", 1)
    BrandQuota.objects.create(brand=brand, resource="jobs", limit=1)
    Job.objects.create(brand=brand, kind="generate", title="The day's only one")

    response = upload(staff(brand), LABEL, brand, "sku,title\nA,One\nB,Two\n")

    assert response.status_code == 400
    assert (StagedUpload.objects.count(), list(staged_folder.iterdir())) == (0, [])
