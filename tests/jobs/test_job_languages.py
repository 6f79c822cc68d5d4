"""A job's messages are in the language of the user who started it; its files and stored names are in English."""

import csv
import io
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone, translation

from brands.models.tenants import Brand
from core.errors import Invalid, NotFound
from core.numbers import grouped
from jobs import kinds, queue, runner
from jobs.kinds import JobKind
from jobs.models import Job
from tests.support import factories
from tests.support.portal import address, browser, form_of, staff, text


def not_possible(_run: Any) -> None:
    raise NotFound


def not_sold(_run: Any) -> None:
    raise Invalid(translation.gettext("Only managers and owners can set points."))


def is_cancelled(run: Any) -> None:
    queue.cancel(job=run.job)
    run.progress(1, 2)


@pytest.fixture(autouse=True)
def handlers(settings: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.MEDIA_ROOT = tmp_path
    for handler in (not_possible, not_sold, is_cancelled):
        kind = JobKind(name=handler.__name__, label="A test", run=handler, on_cancel="Nothing.")
        monkeypatch.setitem(kinds.declared(), kind.name, kind)


def run_job(brand: Brand, kind: str, *, by: Any, language: str = "en", **parameters: Any) -> Job:
    with translation.override(language):
        job = queue.start(brand=brand, kind=kind, title="Export", parameters=parameters, by=by)
    runner.run(job.pk)
    job.refresh_from_db()
    return job


def page_of(job: Job, user: Any) -> str:
    return text(browser(user).get(reverse("admin:jobs_job_change", args=[job.pk])))


@pytest.mark.parametrize(
    ("language", "message"),
    [
        ("de", "Nur Manager und Inhaber können Punkte festlegen."),
        ("ar", "لا يستطيع تحديد النقاط إلا المديرون والمالكون."),
        ("en", "Only managers and owners can set points."),
    ],
)
def test_error_is_in_the_language_of_the_user_who_started_the_job(brand: Brand, language: str, message: str) -> None:
    user = staff(brand, portal_language=language)

    job = run_job(brand, "not_sold", by=user, language=language)

    assert (job.status, job.language) == ("failed", language)
    assert job.log.strip().endswith(message)
    assert message in page_of(job, user)
    assert translation.get_language() == "en"


def test_job_started_by_no_user_reports_in_english(brand: Brand) -> None:
    job = run_job(brand, "not_possible", by=None, language="de")

    assert (job.language, job.log.split(maxsplit=1)[1].strip()) == ("en", "Not found.")


def test_complete_messages_of_a_log_are_in_the_readers_language(brand: Brand) -> None:
    german, arab = (staff(brand, portal_language=language) for language in ("de", "ar"))

    job = run_job(brand, "is_cancelled", by=german, language="de")

    assert job.log.strip().endswith("Cancelled.")
    assert "Abgebrochen." in page_of(job, german)
    assert "أُلغي." in page_of(job, arab)
    answer = browser(arab).get(reverse("admin:jobs_job_progress"), {"id": job.pk}).json()
    assert answer["jobs"][0]["log"].strip().endswith("أُلغي.")


def test_job_given_up_after_crashes_explains_it_in_the_readers_language(brand: Brand) -> None:
    german = staff(brand, portal_language="de")
    job = queue.start(brand=brand, kind="not_sold", title="Export", parameters={}, by=german)
    Job.objects.update(status="running", attempts=queue.ATTEMPTS, alive_at=timezone.now() - 2 * queue.SILENCE)

    queue.resume()
    job.refresh_from_db()

    assert job.status == "failed"
    assert "Aufgegeben: Der Prozess" in page_of(job, german)


@pytest.mark.django_db(transaction=True)  # files are copied over a connection of their own
@pytest.mark.parametrize("kind", ["export-codes", "export-products", "export-members", "export-audit"])
def test_files_do_not_depend_on_the_language_of_the_job(brand: Brand, kind: str) -> None:
    factories.code(brand, product=factories.product(brand, title="Tea"))
    factories.account(factories.customer(brand), brand)
    owner = staff(brand)
    client, url = browser(owner), address("authcodes.product", "add")
    client.post(url, {**form_of(client.get(url)), "sku": "mug", "title": "Mug", "price_currency": "EUR"})
    files = []
    for language in ("en", "ar"):
        job = run_job(brand, kind, by=owner, language=language, query="", format="csv", time_zone="UTC")
        assert job.status == "done", job.log
        with job.result.open("rb") as file:
            files.append(file.read())

    assert files[0] == files[1]
    assert len(list(csv.reader(io.StringIO(files[0].decode())))) >= 2, "the header, and a row"


def test_numbers_in_a_log_are_formatted_for_its_language(brand: Brand, monkeypatch: pytest.MonkeyPatch) -> None:
    def counts(run: Any) -> None:
        message = translation.ngettext("%(number)s row written.", "%(number)s rows written.", 25_800)
        run.log(message % {"number": grouped(25_800)})

    monkeypatch.setitem(kinds.declared(), "counts", JobKind(name="counts", label="x", run=counts, on_cancel="x"))

    assert "25.800 Zeilen geschrieben." in run_job(brand, "counts", by=staff(brand), language="de").log
