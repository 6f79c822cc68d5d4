"""Printing in the portal: roles and brands."""

import pytest
from django.utils import timezone

from authcodes.models.prints import PrintRun
from authcodes.recalls import recalls
from tests.authcodes.printing.print_pages import form_errors, get_preview, post_form, print_url
from tests.support import factories
from tests.support.portal import address, browser, links, print_run_of, staff, text
from tests.support.print_jobs import finished

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.fixture
def owner(brand):
    return staff(brand, email="ann@example.com")


@pytest.fixture
def batch(brand):
    return factories.batch(brand, prefix="AB-", quantity=10, range_name="Spring")


@pytest.mark.parametrize(("role", "status"), [("owner", 200), ("manager", 200), ("printer", 200), ("support", 403)])
def test_roles_have_the_documented_print_permissions(brand, batch, role, status):
    client = browser(staff(brand, role=role))
    run = finished(print_run_of(batch, output="png"))

    assert client.get(print_url(batch)).status_code == status
    assert post_form(client, batch, "edit").status_code == status
    assert post_form(client, batch, "test").status_code == status
    assert client.get(address("authcodes.printrun", "codes")).status_code == status
    assert client.get(address("authcodes.printrun", "calibration")).status_code == status
    hidden_status = 404 if status == 403 else status  # support staff do not see print runs either
    assert client.get(address("jobs.job", "download", run.job_id)).status_code == hidden_status
    page = text(client.get(address("authcodes.batchrange", "change", batch.pk)))
    assert (print_url(batch) in links(page)) is (status == 200)
    codes = text(client.get(address("authcodes.authcode")))
    assert (address("authcodes.printrun", "codes") in links(codes)) is (status == 200)
    assert client.get(address("authcodes.printrun", "change", run.pk)).status_code == hidden_status


def test_pages_of_another_brands_batch_run_and_recall_answer_404(client, batch):
    other_batch = factories.batch(factories.brand(name="zebra"), prefix="ZZ-")
    run = finished(print_run_of(other_batch, output="png"))
    recall_fields = {"recall_id": "R-1", "contact": "x", "message": "x", "reason": "x"}
    recall = recalls.recall_batch(batch=factories.batch(other_batch.brand), at=timezone.now(), **recall_fields)

    for url in (
        print_url(other_batch),
        print_url(other_batch, "preview"),
        address("authcodes.printrun", "done", run.pk),
        address("authcodes.printrun", "open", run.pk),
        address("authcodes.printrun", "change", run.pk),
        address("authcodes.printrun", "cover", run.pk),
        address("authcodes.printrun", "poster", recall.pk),
        address("jobs.job", "download", run.job_id),
    ):
        assert client.get(url).status_code == 404, url
        assert client.post(url, {}).status_code == 404, url
    assert post_form(client, other_batch, "confirm").status_code == 404
    assert PrintRun.objects.count() == 1


def test_code_range_of_another_batch_is_rejected(client, batch):
    other_batch = factories.batch(factories.brand(), prefix="ZZ-")

    answer = get_preview(client, batch, first=other_batch.first_code)

    assert "first" in form_errors(answer)
    assert answer.context.get("picture") is None
