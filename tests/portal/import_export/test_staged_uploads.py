"""Files that wait for a confirmation: none stays in the storage for ever."""

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
def folder(tmp_path):
    return tmp_path / "imports" / "staged"


def aged(path: Path, age: timedelta) -> None:
    moment = (timezone.now() - age).timestamp()
    os.utime(path, (moment, moment))


def test_file_whose_process_ended_before_its_row_was_stored_is_purged(brand, folder, monkeypatch):
    owner = staff(brand)

    def crash(*_what, **_more):
        raise DatabaseError("the process ended here")

    with monkeypatch.context() as crashing, pytest.raises(DatabaseError):
        crashing.setattr(StagedUpload, "save", crash)
        upload(owner, LABEL, brand, "sku,title\nA,One\n")
    [orphan] = folder.iterdir()
    assert StagedUpload.objects.count() == 0
    assert purge_orphaned_uploads() == 0, "it may belong to a request that has not committed yet"
    aged(orphan, timedelta(days=3))

    assert purge_orphaned_uploads() == 1
    assert list(folder.iterdir()) == []


def test_files_that_have_their_row_stay_however_old_they_are(brand, folder):
    upload(staff(brand), LABEL, brand, "sku,title\nA,One\n")
    [kept] = folder.iterdir()
    aged(kept, timedelta(days=30))

    assert purge_orphaned_uploads() == 0
    assert list(folder.iterdir()) == [kept]


def test_storage_without_any_upload_has_nothing_to_purge():
    assert staged_uploads.purge_orphans(at=timezone.now()) == 0


def test_upload_belongs_to_a_person_or_to_a_key(brand):
    with pytest.raises(IntegrityError), transaction.atomic():
        StagedUpload.objects.create(
            brand=brand, resource=LABEL, file_name="x", file_bytes=0, sha256="", expires_at=timezone.now()
        )


def test_erasure_of_a_customer_takes_the_brands_uploads_with_it(brand, folder, django_capture_on_commit_callbacks):
    owner, other = staff(brand), factories.brand()
    found = upload(owner, LABEL, brand, "sku,title\nA,One\n")
    upload(staff(other), LABEL, other, "sku,title\nA,One\n")
    now = timezone.now()

    staged_uploads.expire(brand_id=brand.pk, at=now)

    assert browser(owner).get(found["Location"]).status_code == 400
    with django_capture_on_commit_callbacks(execute=True):
        assert staged_uploads.purge(at=now) == 1
    assert StagedUpload.objects.get().brand == other
    assert len(list(folder.iterdir())) == 1


@pytest.mark.django_db(transaction=True)
def test_file_for_which_no_job_can_start_is_kept_nowhere(folder, monkeypatch):
    brand = factories.brand()
    monkeypatch.setattr(tables, "MAX_ROWS", 1)
    BrandQuota.objects.create(brand=brand, resource="jobs", limit=1)
    Job.objects.create(brand=brand, kind="generate", title="The day's only one")

    answer = upload(staff(brand), LABEL, brand, "sku,title\nA,One\nB,Two\n")

    assert answer.status_code == 400
    assert (StagedUpload.objects.count(), list(folder.iterdir())) == (0, [])
