"""What a job says is in the language of whoever started it; the files it writes and the names it stores are English."""

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
from tests.support.portal import browser, staff, text


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
    for work in (not_possible, not_sold, is_cancelled):
        kind = JobKind(name=work.__name__, label="A test", run=work, on_cancel="Nothing.")
        monkeypatch.setitem(kinds.declared(), kind.name, kind)


def done(brand: Brand, kind: str, *, by: Any, language: str = "en", **parameters: Any) -> Job:
    with translation.override(language):
        job = queue.start(brand=brand, kind=kind, title="Export", parameters=parameters, by=by)
    runner.run(job.pk)
    job.refresh_from_db()
    return job


def page_of(job: Job, person: Any) -> str:
    return text(browser(person).get(reverse("admin:jobs_job_change", args=[job.pk])))


@pytest.mark.parametrize(
    ("language", "message"),
    [
        ("de", "Nur Manager und Inhaber können Punkte festlegen."),
        ("ar", "لا يستطيع تحديد النقاط إلا المديرون والمالكون."),
        ("en", "Only managers and owners can set points."),
    ],
)
def test_an_error_is_in_the_language_of_who_started_the_job(brand: Brand, language: str, message: str) -> None:
    person = staff(brand, portal_language=language)

    job = done(brand, "not_sold", by=person, language=language)

    assert (job.status, job.language) == ("failed", language)
    assert job.log.strip().endswith(message)
    assert message in page_of(job, person)
    assert translation.get_language() == "en"


def test_what_nobody_on_staff_starts_speaks_english(brand: Brand) -> None:
    job = done(brand, "not_possible", by=None, language="de")

    assert (job.language, job.log.split(maxsplit=1)[1].strip()) == ("en", "Not found.")


def test_whole_texts_of_a_log_are_in_the_language_of_whoever_looks(brand: Brand) -> None:
    german, arab = (staff(brand, portal_language=language) for language in ("de", "ar"))

    job = done(brand, "is_cancelled", by=german, language="de")

    assert job.log.strip().endswith("Cancelled.")
    assert "Abgebrochen." in page_of(job, german)
    assert "أُلغي." in page_of(job, arab)
    answer = browser(arab).get(reverse("admin:jobs_job_progress"), {"id": job.pk}).json()
    assert answer["jobs"][0]["log"].strip().endswith("أُلغي.")


def test_a_job_whose_worker_dies_again_and_again_says_so_in_the_readers_language(brand: Brand) -> None:
    german = staff(brand, portal_language="de")
    job = queue.start(brand=brand, kind="not_sold", title="Export", parameters={}, by=german)
    Job.objects.update(status="running", attempts=queue.ATTEMPTS, alive_at=timezone.now() - 2 * queue.SILENCE)

    queue.resume()
    job.refresh_from_db()

    assert job.status == "failed"
    assert "Aufgegeben: Der Prozess" in page_of(job, german)


@pytest.mark.parametrize("kind", ["export-codes", "export-products", "export-members", "export-audit"])
def test_files_are_the_same_whoever_started_the_job(brand: Brand, kind: str) -> None:
    factories.code(brand, product=factories.product(brand, title="Tea"))
    factories.account(factories.customer(brand), brand)
    owner = staff(brand)
    files = []
    for language in ("en", "ar"):
        job = done(brand, kind, by=owner, language=language, query="", format="csv", time_zone="UTC")
        assert job.status == "done", job.log
        with job.result.open("rb") as file:
            files.append(file.read())

    assert files[0] == files[1]
    assert len(list(csv.reader(io.StringIO(files[0].decode())))) >= 1


def test_numbers_of_a_log_are_written_as_the_language_does(brand: Brand, monkeypatch: pytest.MonkeyPatch) -> None:
    def counts(run: Any) -> None:
        message = translation.ngettext("%(number)s row written.", "%(number)s rows written.", 25_800)
        run.log(message % {"number": grouped(25_800)})

    monkeypatch.setitem(kinds.declared(), "counts", JobKind(name="counts", label="x", run=counts, on_cancel="x"))

    assert "25.800 Zeilen geschrieben." in done(brand, "counts", by=staff(brand), language="de").log
