"""The bell in the header: the user's own running and recently finished jobs."""

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
from tests.support.portal import KINDS_OF_PAGES, address, browser, links, print_run_of, staff, text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]
BELL = reverse("admin:jobs_job_bell")


def job(brand: Any, user: Any, title: str, **fields: Any) -> Job:
    kind = fields.pop("kind", "generate")
    return Job.objects.create(brand=brand, kind=kind, title=title, created_by=user, **fields)


def ended(**ago: int) -> dict[str, Any]:
    return {"status": "done", "finished_at": timezone.now() - timedelta(**ago)}


def test_bell_lists_own_running_and_recently_finished_jobs() -> None:
    brand = factories.brand()
    user, colleague = staff(brand), staff(brand)
    job(brand, user, "Long ago", **ended(days=2))
    job(brand, user, "An hour ago", **ended(hours=1))
    job(brand, user, "At work", status="running", done=3, total=10)
    job(brand, colleague, "Of a colleague")

    bell = browser(user).get(BELL).json()

    assert (bell["running"], bell["name"]) == (1, "Jobs: 1 running")
    assert bell["html"].index("At work") < bell["html"].index("An hour ago")
    assert "3 of 10 (30 %)" in bell["html"]
    assert "Long ago" not in bell["html"]
    assert "Of a colleague" not in bell["html"]


def test_finished_file_can_be_downloaded_from_the_bell() -> None:
    brand = factories.brand()
    user = staff(brand)
    created_job = job(brand, user, "A file", **ended(minutes=1), result_name="codes.csv")
    created_job.result.save("file", ContentFile(b"a,b"))
    Job.objects.filter(pk=created_job.pk).update(expires_at=timezone.now() + timedelta(days=1))

    bell_html = browser(user).get(BELL).json()["html"]

    assert f'href="{reverse("admin:jobs_job_download", args=[created_job.pk])}"' in bell_html


def test_bell_hides_jobs_of_a_brand_that_the_user_left() -> None:
    brand, other_brand = factories.brand(), factories.brand()
    user = staff(brand, other_brand)
    job(other_brand, user, "Elsewhere", status="running")
    assert "Elsewhere" in browser(user).get(BELL).json()["html"]

    StaffRole.objects.filter(user=user, brand=other_brand).delete()

    bell = browser(user).get(BELL).json()
    assert (bell["running"], bell["name"]) == (0, "Jobs")
    assert "Nothing is running" in bell["html"]


def test_bell_hides_a_job_whose_content_the_role_may_not_see() -> None:
    brand = factories.brand()
    user = staff(brand)
    job(brand, user, "Scans of everybody", kind="export-scans", status="running")
    StaffRole.objects.filter(user=user).update(role="printer")

    assert "Scans of everybody" not in browser(user).get(BELL).json()["html"]


def test_jobs_link_to_their_batches_with_one_query_for_all() -> None:
    brand = factories.brand()
    user = staff(brand)
    batches = [factories.batch(brand, prefix=f"{name}-", range_name=name) for name in ("SPRING", "AUTUMN")]

    def load_bell() -> tuple[int, str]:
        with CaptureQueriesContext(connection) as queries:
            html = browser(user).get(BELL).json()["html"]
        return len(queries), html

    job(brand, user, "Codes", parameters={"batch_id": batches[0].pk}, **ended(hours=1))
    queries_for_one, _html = load_bell()
    job(brand, user, "More codes", parameters={"batch_id": batches[1].pk}, **ended(hours=1))
    queries_for_two, html = load_bell()

    assert {address("authcodes.batchrange", "change", batch.pk) for batch in batches} <= links(html)
    assert queries_for_one == queries_for_two


def test_print_jobs_link_to_their_runs_without_a_query_for_each() -> None:
    brand = factories.brand()
    user = staff(brand)

    def load_bell() -> tuple[int, set[str]]:
        run = print_run_of(factories.batch(brand, quantity=1), by=user)
        with CaptureQueriesContext(connection) as queries:
            html = browser(user).get(BELL).json()["html"]
        assert address("authcodes.printrun", "change", run.pk) in links(html)
        return len(queries), links(html)

    queries_for_one, _links = load_bell()
    queries_for_two, bell_links = load_bell()

    assert queries_for_one == queries_for_two
    assert not any(link.startswith(address("jobs.job")) for link in bell_links)


def test_job_does_not_name_a_batch_of_another_brand() -> None:
    brand = factories.brand()
    user = staff(brand)
    batch = factories.batch(factories.brand(), prefix="XY-", range_name="Elsewhere")
    created_job = job(brand, user, "Codes", parameters={"batch_id": batch.pk}, **ended(hours=1))

    assert "Elsewhere" not in browser(user).get(BELL).json()["html"]
    assert "Elsewhere" not in text(browser(user).get(address("jobs.job", "change", created_job.pk)))


@pytest.mark.parametrize("page", KINDS_OF_PAGES)
def test_lists_forms_and_custom_pages_have_the_bell(page: str) -> None:
    page_html = text(browser(staff(factories.brand())).get(page))

    assert f'data-bell="{BELL}"' in page_html
