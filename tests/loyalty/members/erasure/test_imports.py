"""Imports of codes lose an erased customer's data: on the codes, in their rows, and in the names of files and jobs."""

import pytest
from django.core.files.base import ContentFile
from django.utils import timezone

from authcodes.codes import bulk_changes
from authcodes.codes.ranges import resolve_range
from authcodes.imports import commit, uploads
from authcodes.models.codes import AuthCode
from authcodes.models.imports import ImportRow
from jobs import runner
from jobs.models import Job
from tests.loyalty.members.erasure.conftest import EMAIL, FIRST, LAST, PERSONAL_TEXTS, erase, find_texts
from tests.support import factories
from tests.support.portal import staff

pytestmark = pytest.mark.usefixtures("media")
NOTE = f"for {FIRST} {LAST} <{EMAIL}>"


@pytest.fixture
def batch(brand):
    return factories.batch(brand, assigned=False, quantity=4, prefix="A")


def import_codes(brand, *lines, name="codes.csv"):
    """A committed import."""
    content = ContentFile("\n".join(["auth_code,inventory_location,notes", *lines, ""]).encode())
    product = factories.product(brand)
    upload = uploads.upload(brand=brand, kind="list", product=product, file=content, name=name, by=staff(brand))
    runner.run(Job.objects.get(kind="check-import").pk)
    return run(upload, commit.commit(upload=upload, skip_bad=False, by=upload.uploaded_by))


def run(upload, job):
    runner.run(job.pk)
    upload.refresh_from_db()
    return upload


def notes(batch):
    return list(batch.codes.order_by("code").values_list("notes", flat=True))


def test_notes_and_locations_from_an_import_lose_personal_data(brand, batch, named_customer):
    batch.codes.filter(code="A0001").update(notes=NOTE)  # before the import, which stores it for its undo
    import_codes(brand, f"A0001,Shelf of {FIRST} {LAST},{NOTE}", "A0002,,Shop 5", f"A0003,,{NOTE}")

    erase(named_customer, brand)

    assert find_texts(*PERSONAL_TEXTS) == []
    first, second, third, last = notes(batch)
    assert first.startswith("for ")
    assert (second, third, last) == ("Shop 5", first, "")


def test_import_can_still_be_undone_after_the_erasure(brand, batch, named_customer):
    upload = import_codes(brand, f"A0001,,{NOTE}", "A0002,,Shop 5")

    erase(named_customer, brand)
    run(upload, commit.undo(upload=upload, by=upload.uploaded_by, at=timezone.now()))

    assert (upload.status, notes(batch)) == ("undone", ["", "", "", ""])


def test_notes_of_a_purged_import_lose_personal_data(brand, batch, named_customer):
    import_codes(brand, f"A0001,,{NOTE}")
    ImportRow.objects.all().delete()

    erase(named_customer, brand)

    assert find_texts(*PERSONAL_TEXTS) == []


def test_notes_of_codes_assigned_by_hand_lose_personal_data(brand, batch, named_customer):
    assignment = bulk_changes.Assignment(factories.product(brand), inventory_location=f"{FIRST} {LAST}", notes=NOTE)
    requested = bulk_changes.CodeChangeRequest(bulk_changes.Kind.ASSIGNED, assignment=assignment)
    codes = resolve_range(batch=batch, first="A0001", last="A0003")
    bulk_changes.change(codes=codes, requested=requested, by=staff(brand), at=timezone.now())
    assert AuthCode.objects.filter(notes=NOTE).count() == 3

    erase(named_customer, brand)

    assert find_texts(*PERSONAL_TEXTS) == []


def test_names_of_files_and_their_jobs_lose_personal_data(brand, batch, named_customer):
    upload = import_codes(brand, "A0001,,", name=f"codes for {FIRST} {LAST}.csv")

    erase(named_customer, brand)

    upload.refresh_from_db()
    assert upload.file_name.startswith("codes for ")
    assert find_texts(*PERSONAL_TEXTS) == []
