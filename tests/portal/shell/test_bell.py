"""The bell in the header: one's own jobs, at work or lately ended."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from brands.models.people import StaffRole
from jobs.models import Job
from tests.support import factories
from tests.support.portal import address, browser, links, printed, staff, text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]
BELL = reverse("admin:jobs_job_bell")


def job(brand: Any, person: Any, title: str, **fields: Any) -> Job:
    kind = fields.pop("kind", "generate")
    return Job.objects.create(brand=brand, kind=kind, title=title, created_by=person, **fields)


def ended(**ago: int) -> dict[str, Any]:
    return {"status": "done", "finished_at": timezone.now() - timedelta(**ago)}


def test_the_bell_holds_what_one_started_and_what_ended_lately() -> None:
    brand = factories.brand()
    person, colleague = staff(brand), staff(brand)
    job(brand, person, "Long ago", **ended(days=2))
    job(brand, person, "An hour ago", **ended(hours=1))
    job(brand, person, "At work", status="running", done=3, total=10)
    job(brand, colleague, "Of a colleague")

    answer = browser(person).get(BELL).json()

    assert (answer["running"], answer["name"]) == (1, "Jobs: 1 running")
    assert answer["html"].index("At work") < answer["html"].index("An hour ago")
    assert "3 of 10 (30 %)" in answer["html"]
    assert "Long ago" not in answer["html"]
    assert "Of a colleague" not in answer["html"]


def test_a_finished_file_can_be_downloaded_from_the_bell() -> None:
    brand = factories.brand()
    person = staff(brand)
    made = job(brand, person, "A file", **ended(minutes=1), result_name="codes.csv")
    made.result.save("file", ContentFile(b"a,b"))
    Job.objects.filter(pk=made.pk).update(expires_at=timezone.now() + timedelta(days=1))

    shown = browser(person).get(BELL).json()["html"]

    assert f'href="{reverse("admin:jobs_job_download", args=[made.pk])}"' in shown


def test_a_job_of_a_brand_that_one_left_is_gone_from_the_bell() -> None:
    brand, other = factories.brand(), factories.brand()
    person = staff(brand, other)
    job(other, person, "Elsewhere", status="running")
    assert "Elsewhere" in browser(person).get(BELL).json()["html"]

    StaffRole.objects.filter(user=person, brand=other).delete()

    answer = browser(person).get(BELL).json()
    assert (answer["running"], answer["name"]) == (0, "Jobs")
    assert "Nothing is running" in answer["html"]


def test_what_is_in_a_jobs_file_decides_who_sees_it_in_the_bell() -> None:
    brand = factories.brand()
    person = staff(brand)
    job(brand, person, "Scans of everybody", kind="export-scans", status="running")
    StaffRole.objects.filter(user=person).update(role="printer")

    assert "Scans of everybody" not in browser(person).get(BELL).json()["html"]


def test_jobs_lead_to_the_batches_that_they_belong_to_in_one_statement_for_all() -> None:
    brand = factories.brand()
    person = staff(brand)
    batches = [factories.batch(brand, prefix=f"{name}-", range_name=name) for name in ("SPRING", "AUTUMN")]

    def load_bell() -> tuple[int, str]:
        with CaptureQueriesContext(connection) as queries:
            html = browser(person).get(BELL).json()["html"]
        return len(queries), html

    job(brand, person, "Codes", parameters={"batch_id": batches[0].pk}, **ended(hours=1))
    one, _html = load_bell()
    job(brand, person, "More codes", parameters={"batch_id": batches[1].pk}, **ended(hours=1))
    two, html = load_bell()

    assert {address("authcodes.batchrange", "change", batch.pk) for batch in batches} <= links(html)
    assert one == two


def test_prints_lead_to_their_runs_without_a_statement_for_each() -> None:
    brand = factories.brand()
    person = staff(brand)

    def load_bell() -> tuple[int, set[str]]:
        run = printed(factories.batch(brand, quantity=1), by=person)
        with CaptureQueriesContext(connection) as queries:
            html = browser(person).get(BELL).json()["html"]
        assert address("authcodes.printrun", "change", run.pk) in links(html)
        return len(queries), links(html)

    one, _links = load_bell()
    two, found = load_bell()

    assert one == two
    assert not any(each.startswith(address("jobs.job")) for each in found)


def test_a_job_does_not_name_another_brands_batch() -> None:
    brand = factories.brand()
    person = staff(brand)
    batch = factories.batch(factories.brand(), prefix="XY-", range_name="Elsewhere")
    made = job(brand, person, "Codes", parameters={"batch_id": batch.pk}, **ended(hours=1))

    assert "Elsewhere" not in browser(person).get(BELL).json()["html"]
    assert "Elsewhere" not in text(browser(person).get(address("jobs.job", "change", made.pk)))


def test_every_page_has_the_bell() -> None:
    shown = text(browser(staff(factories.brand())).get(address("authcodes.product")))

    assert f'data-bell="{BELL}"' in shown
