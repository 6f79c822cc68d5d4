"""Files of jobs in the portal: downloaded as what they are, by those who may, until they expire."""

import pytest
from django.urls import reverse
from django.utils import timezone

from jobs import files
from jobs.models import Job
from tests.jobs.job_pages import download, job_of, messages_of, with_file
from tests.support import factories
from tests.support.portal import address, browser, staff, text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.fixture
def client(brand):
    return browser(staff(brand))


def test_download_is_a_file_of_its_kind_and_nothing_else(client, brand):
    answer = download(client, with_file(job_of(brand)))

    assert b"".join(answer.streaming_content) == b"a,b"
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="work.csv"'
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "no-store" in answer.headers["Cache-Control"]


def test_download_of_a_name_with_letters_of_the_world(client, brand):
    answer = download(client, with_file(job_of(brand), name='Käse "neu".csv'))

    assert answer.headers["Content-Disposition"] == "attachment; filename*=utf-8''K%C3%A4se%20%22neu%22.csv"


@pytest.mark.parametrize("gone", ["expired", "forgotten", "lost"])
def test_file_that_has_expired_is_explained(client, brand, gone):
    job = with_file(job_of(brand))
    if gone != "lost":
        Job.objects.update(expires_at=timezone.now())
    if gone == "forgotten":
        files.purge_files()
    if gone == "lost":
        job.result.storage.delete(job.result.name)

    answer = download(client, job)

    assert answer.status_code == 302
    assert messages_of(answer) == ["The file has expired. Start the job again to create a new one."]
    if gone != "lost":
        assert "has expired" in text(client.get(address("jobs.job", "change", job.pk)))


def test_job_without_a_file_says_so(client, brand):
    assert messages_of(download(client, job_of(brand))) == ["There is no file to download."]


def test_half_written_file_is_not_on_offer(client, brand):
    """A worker that died between keeping the file and ending the job."""
    assert download(client, with_file(job_of(brand), status="running")).status_code == 302


@pytest.mark.parametrize("kind", ["generate", "export-scans", "export-affected"])
def test_another_brands_job_does_not_exist(client, kind):
    zebra = factories.brand(name="zebra brand")
    job = with_file(job_of(zebra, kind, title="zebra title", log="zebra log"), name="zebra.csv", content=b"zebra")

    answers = [download(client, job), client.get(address("jobs.job", "change", job.pk))]
    answers += [client.post(address("jobs.job", "cancel", job.pk))]
    response = client.get(address("jobs.job", "progress"), {"id": job.pk})

    assert [answer.status_code for answer in answers] == [404, 404, 404]
    assert response.json() == {"jobs": []}
    assert not any("zebra" in text(answer) for answer in [*answers, client.get(address("jobs.job"))])


def test_printer_does_not_see_jobs_about_customers(brand):
    client = browser(staff(brand, role="printer"))
    hidden, open_to = with_file(job_of(brand, "export-scans", title="Scans")), with_file(job_of(brand))

    assert list(client.get(address("jobs.job")).context["cl"].result_list) == [open_to]
    assert download(client, hidden).status_code == 404
    assert download(client, open_to).status_code == 200


def test_support_watches_and_takes_nothing_away(brand):
    client = browser(staff(brand, role="support"))
    job = with_file(job_of(brand, "export-scans"))

    page = client.get(address("jobs.job", "change", job.pk))

    assert page.status_code == 200
    assert address("jobs.job", "download", job.pk) not in text(page)
    assert download(client, job).status_code == 403
    assert client.post(address("jobs.job", "cancel", job.pk)).status_code == 403


def test_who_is_no_staff_gets_no_file(brand):
    job = with_file(job_of(brand))

    answer = download(browser(factories.customer(brand)), job)

    assert answer.headers["Location"].startswith(reverse("admin:login"))
