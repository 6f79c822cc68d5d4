"""Lists that keep themselves current: what their script asks, and who is answered."""

from typing import Any

import pytest

from authcodes.codes import batches
from authcodes.models.batches import BatchRange
from authcodes.models.imports import Import
from brands.models.tenants import Brand
from jobs.models import Job
from tests.support import factories
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db


def in_the_making(brand: Brand) -> BatchRange:
    """A batch of four codes, of which one is made."""
    batch = factories.batch(brand, quantity=4)
    BatchRange.objects.filter(pk=batch.pk).update(generated_count=1)
    batch.refresh_from_db()
    batches.start_generation(batch=batch, by=None)
    return batch


def rows_of(person: Any, label: str, *ids: Any) -> dict[str, dict[str, str]]:
    answer = browser(person).get(address(label, "live"), {"id": ids, "column": ["state", "progress"]})
    assert answer.status_code == 200
    return {row["id"]: row["columns"] for row in answer.json()["rows"]}


def test_a_batch_in_the_making_is_watched_until_it_is_ready(brand: Brand) -> None:
    batch, person = in_the_making(brand), staff(brand)
    shown = text(browser(person).get(address("authcodes.batchrange")))
    assert f'data-live-row="{batch.pk}" data-live-column="state"' in shown
    assert '<script src="/static/portal/live' in shown
    assert "Generating: 25 %" in rows_of(person, "authcodes.batchrange", batch.pk)[str(batch.pk)]["state"]

    BatchRange.objects.filter(pk=batch.pk).update(generated_count=4)
    Job.objects.update(status="done")

    state = rows_of(person, "authcodes.batchrange", batch.pk)[str(batch.pk)]["state"]
    assert "Ready" in state
    assert "data-live-row" not in state
    assert "data-live-row" not in text(browser(person).get(address("authcodes.batchrange")))


def test_jobs_and_imports_are_watched_while_they_run(brand: Brand) -> None:
    person = staff(brand)
    job = Job.objects.create(brand=brand, kind="generate", title="x", status="running", done=1, total=4)
    upload = Import.objects.create(brand=brand, kind="list", file="x.csv", file_name="x.csv", uploaded_by=person)

    columns = rows_of(person, "jobs.job", job.pk)[str(job.pk)]
    assert "1 of 4 (25 %)" in columns["progress"]
    assert all("data-live-row" in html for html in columns.values())
    assert "data-live-row" in rows_of(person, "authcodes.import", upload.pk)[str(upload.pk)]["state"]

    Job.objects.update(status="done")
    assert not any("data-live-row" in html for html in rows_of(person, "jobs.job", job.pk)[str(job.pk)].values())


@pytest.mark.parametrize("label", ["authcodes.batchrange", "jobs.job", "authcodes.import"])
def test_nobody_hears_of_another_brands_rows(brand: Brand, label: str) -> None:
    other_brand = factories.brand()
    batch, person = in_the_making(other_brand), staff(brand)
    upload = Import.objects.create(
        brand=other_brand, kind="list", file="x", file_name="x", uploaded_by=staff(other_brand)
    )
    job = Job.objects.get()
    key = {"authcodes.batchrange": batch, "jobs.job": job, "authcodes.import": upload}[label].pk

    assert rows_of(person, label, key) == {}
    assert rows_of(staff(other_brand), label, key) != {}
    assert rows_of(factories.user(is_staff=True), label, key) == {}


def test_only_the_columns_that_a_page_has_are_made(brand: Brand) -> None:
    batch, client = in_the_making(brand), browser(staff(brand))

    def columns(*names: str) -> dict[str, str]:
        query = {"id": batch.pk, "column": names}
        result: dict[str, str] = client.get(address("authcodes.batchrange", "live"), query).json()["rows"][0]["columns"]
        return result

    assert columns("state").keys() == {"state"}
    assert columns("brand", "prefix", "") == {}


@pytest.mark.parametrize("wrong", ["x", "", "9" * 30, "-1", "1;2"])
def test_what_is_no_id_finds_nothing(brand: Brand, wrong: str) -> None:
    assert rows_of(staff(brand), "authcodes.batchrange", wrong) == {}


def test_no_more_rows_are_asked_than_a_page_shows(brand: Brand, django_assert_max_num_queries: Any) -> None:
    person = staff(brand)
    for _ in range(3):
        in_the_making(brand)
    ids = [*BatchRange.objects.values_list("pk", flat=True), *range(10_000, 10_200)]
    client = browser(person)
    client.get(address("authcodes.batchrange", "live"))

    with django_assert_max_num_queries(12):
        assert len(client.get(address("authcodes.batchrange", "live"), {"id": ids}).json()["rows"]) == 3


def test_the_bar_of_an_import_has_its_style(brand: Brand) -> None:
    shown = text(browser(staff(brand)).get(address("authcodes.import", "add")))

    assert "portal/jobs" in shown
    assert ".css" in shown[shown.index("portal/jobs") :][:60]
