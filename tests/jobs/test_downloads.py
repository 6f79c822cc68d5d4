"""Downloads of job files in the portal: their headers, their expiry and who may have them."""

import pytest
from django.urls import reverse
from django.utils import timezone

from jobs import files
from jobs.models import Job
from tests.jobs.job_pages import create_job, download, messages_of, with_file
from tests.support import factories
from tests.support.portal import address, browser, staff, text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.fixture
def client(brand):
    return browser(staff(brand))


def test_download_has_the_content_type_and_safe_headers(client, brand):
    answer = download(client, with_file(create_job(brand)))

    assert b"".join(answer.streaming_content) == b"a,b"
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="work.csv"'
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "no-store" in answer.headers["Cache-Control"]


def test_download_encodes_a_file_name_outside_ascii(client, brand):
    answer = download(client, with_file(create_job(brand), name='Käse "neu".csv'))

    assert answer.headers["Content-Disposition"] == "attachment; filename*=utf-8''K%C3%A4se%20%22neu%22.csv"


@pytest.mark.parametrize("gone", ["expired", "forgotten", "lost"])
def test_download_of_an_expired_file_explains_the_reason(client, brand, gone):
    job = with_file(create_job(brand))
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


def test_download_of_a_job_without_a_file_explains_the_reason(client, brand):
    assert messages_of(download(client, create_job(brand))) == ["There is no file to download."]


def test_file_of_a_running_job_cannot_be_downloaded(client, brand):
    """A worker may have died between saving the file and ending the job."""
    assert download(client, with_file(create_job(brand), status="running")).status_code == 302


@pytest.mark.parametrize("kind", ["generate", "export-scans", "export-affected"])
def test_job_of_another_brand_is_not_found(client, kind):
    zebra = factories.brand(name="zebra brand")
    job = with_file(create_job(zebra, kind, title="zebra title", log="zebra log"), name="zebra.csv", content=b"zebra")

    answers = [download(client, job), client.get(address("jobs.job", "change", job.pk))]
    answers += [client.post(address("jobs.job", "cancel", job.pk))]
    response = client.get(address("jobs.job", "progress"), {"id": job.pk})

    assert [answer.status_code for answer in answers] == [404, 404, 404]
    assert response.json() == {"jobs": []}
    assert not any("zebra" in text(answer) for answer in [*answers, client.get(address("jobs.job"))])


def test_printer_does_not_see_jobs_about_customers(brand):
    client = browser(staff(brand, role="printer"))
    hidden, visible = with_file(create_job(brand, "export-scans", title="Scans")), with_file(create_job(brand))

    assert list(client.get(address("jobs.job")).context["cl"].result_list) == [visible]
    assert download(client, hidden).status_code == 404
    assert download(client, visible).status_code == 200


def test_support_sees_jobs_but_cannot_download_or_cancel_them(brand):
    client = browser(staff(brand, role="support"))
    job = with_file(create_job(brand, "export-scans"))

    page = client.get(address("jobs.job", "change", job.pk))

    assert page.status_code == 200
    assert address("jobs.job", "download", job.pk) not in text(page)
    assert download(client, job).status_code == 403
    assert client.post(address("jobs.job", "cancel", job.pk)).status_code == 403


def test_customer_cannot_download_a_job_file(brand):
    job = with_file(create_job(brand))

    answer = download(browser(factories.customer(brand)), job)

    assert answer.headers["Location"].startswith(reverse("admin:login"))
