"""Lists that update themselves: the requests of their script, and who gets an answer."""

from typing import Any

import pytest

from authcodes.codes import batches
from authcodes.models.batches import BatchRange
from authcodes.models.imports import Import
from brands.models.tenants import Brand
from jobs.models import Job
from tests.support import factories
from tests.support.portal import address, browser, page, staff, text

pytestmark = pytest.mark.django_db


def unfinished_batch(brand: Brand) -> BatchRange:
    """A batch of four codes, with one of them generated."""
    batch = factories.batch(brand, quantity=4)
    BatchRange.objects.filter(pk=batch.pk).update(generated_count=1)
    batch.refresh_from_db()
    batches.start_generation(batch=batch, by=None)
    return batch


def live_rows(user: Any, label: str, *ids: Any) -> dict[str, dict[str, str]]:
    response = browser(user).get(address(label, "live"), {"id": ids, "column": ["state", "progress"]})
    assert response.status_code == 200
    return {row["id"]: row["columns"] for row in response.json()["rows"]}


def test_batch_is_updated_live_until_it_is_ready(brand: Brand) -> None:
    batch, user = unfinished_batch(brand), staff(brand)
    page_html = text(browser(user).get(address("authcodes.batchrange")))
    assert f'data-live-row="{batch.pk}" data-live-column="state"' in page_html
    assert '<script src="/static/portal/live' in page_html
    assert "Generating: 25 %" in live_rows(user, "authcodes.batchrange", batch.pk)[str(batch.pk)]["state"]

    BatchRange.objects.filter(pk=batch.pk).update(generated_count=4)
    Job.objects.update(status="done")

    state = live_rows(user, "authcodes.batchrange", batch.pk)[str(batch.pk)]["state"]
    assert "Ready" in state
    assert "data-live-row" not in state
    assert "data-live-row" not in text(browser(user).get(address("authcodes.batchrange")))


def test_jobs_and_imports_are_updated_live_while_they_run(brand: Brand) -> None:
    user = staff(brand)
    job = Job.objects.create(brand=brand, kind="generate", title="x", status="running", done=1, total=4)
    upload = Import.objects.create(brand=brand, kind="list", file="x.csv", file_name="x.csv", uploaded_by=user)

    columns = live_rows(user, "jobs.job", job.pk)[str(job.pk)]
    assert "1 of 4 (25 %)" in columns["progress"]
    assert all("data-live-row" in html for html in columns.values())
    assert "data-live-row" in live_rows(user, "authcodes.import", upload.pk)[str(upload.pk)]["state"]

    Job.objects.update(status="done")
    assert not any("data-live-row" in html for html in live_rows(user, "jobs.job", job.pk)[str(job.pk)].values())


@pytest.mark.parametrize("label", ["authcodes.batchrange", "jobs.job", "authcodes.import"])
def test_live_update_contains_no_rows_of_other_brands(brand: Brand, label: str) -> None:
    other_brand = factories.brand()
    batch, user = unfinished_batch(other_brand), staff(brand)
    upload = Import.objects.create(
        brand=other_brand, kind="list", file="x", file_name="x", uploaded_by=staff(other_brand)
    )
    job = Job.objects.get()
    key = {"authcodes.batchrange": batch, "jobs.job": job, "authcodes.import": upload}[label].pk

    assert live_rows(user, label, key) == {}
    assert live_rows(staff(other_brand), label, key) != {}
    assert live_rows(factories.user(is_staff=True), label, key) == {}


def test_only_live_columns_of_the_list_are_rendered(brand: Brand) -> None:
    batch, client = unfinished_batch(brand), browser(staff(brand))

    def columns(*names: str) -> dict[str, str]:
        query = {"id": batch.pk, "column": names}
        result: dict[str, str] = client.get(address("authcodes.batchrange", "live"), query).json()["rows"][0]["columns"]
        return result

    assert columns("state").keys() == {"state"}
    assert columns("brand", "prefix", "") == {}


@pytest.mark.parametrize("invalid_id", ["x", "", "9" * 30, "-1", "1;2"])
def test_invalid_id_matches_no_row(brand: Brand, invalid_id: str) -> None:
    assert live_rows(staff(brand), "authcodes.batchrange", invalid_id) == {}


def test_live_update_of_many_ids_takes_few_queries(brand: Brand, django_assert_max_num_queries: Any) -> None:
    user = staff(brand)
    for _ in range(20):
        unfinished_batch(brand)
    ids = [*BatchRange.objects.values_list("pk", flat=True), *range(10_000, 10_200)]
    client = browser(user)
    client.get(address("authcodes.batchrange", "live"))
    columns = page("authcodes.batchrange").live_columns

    with django_assert_max_num_queries(12):
        rows = client.get(address("authcodes.batchrange", "live"), {"id": ids, "column": columns}).json()["rows"]

    assert [set(row["columns"]) for row in rows] == [set(columns)] * 20


def test_import_page_loads_the_style_of_the_progress_bar(brand: Brand) -> None:
    page_html = text(browser(staff(brand)).get(address("authcodes.import", "add")))

    assert "portal/jobs" in page_html
    assert ".css" in page_html[page_html.index("portal/jobs") :][:60]
