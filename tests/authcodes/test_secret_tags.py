"""Secret tags are visible only to roles that print, at every endpoint."""

import re

import pytest
from django.db import connection
from django.utils import timezone

from authcodes.codes import signed_tags
from authcodes.models.scans import Scan
from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext
from jobs.models import Job
from tests.authcodes.conftest import new_batch, run_jobs
from tests.support import factories
from tests.support.portal import LABELS, address, browser, errors, links, print_run_of, staff, text

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def media_folder(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path


# --- Visibility of tags ----------------------------------------------------------------------------------------------


@pytest.fixture
def signed_batch(brand, settings):
    settings.CODE_TAG_SECRETS = {1: "s" * 40}
    return factories.batch(brand, signed=True, quantity=3, prefix="SG-", scan_limit=5)


def tag_of(code):
    return signed_tags.tag(code=code.code, batch_id=code.batch_id, version=1)


@pytest.mark.parametrize(("role", "status"), [("owner", 200), ("manager", 200), ("printer", 200), ("support", 403)])
def test_qr_image_addresses_need_the_permission_to_print(api, brand, signed_batch, role, status):
    caller = api.as_customer(staff(brand, role=role))

    assert caller.get(f"batch-ranges/{signed_batch.pk}/qr-codes").status_code == status


def crawl(client):
    """The text of each page and file that is linked from the portal's lists and their pages."""
    texts, remaining = {}, {address(label) for label in LABELS} | {"/admin/"}
    while remaining and len(texts) < 400:
        url = remaining.pop()
        answer = client.get(url)
        texts[url] = text(answer) if answer.status_code == 200 and not is_binary(answer) else ""
        if answer.status_code == 200:
            # Links with a query are filters and orders of lists, which lead to the same rows.
            remaining |= {link for link in links(texts[url]) if "?" not in link and "logout" not in link} - set(texts)
    return texts


def is_binary(answer):
    return not re.match(r"text/|application/(json|pdf)", answer["Content-Type"])


def test_support_sees_no_tag_on_any_page_or_in_any_file(api, brand, signed_batch, customer, deliver_events, owner):
    codes = list(signed_batch.codes.order_by("code"))
    scanned, untagged, verified = codes
    scan.scan(
        scanned=f"https://brand.example/s/{scanned.code}.{tag_of(scanned)}",
        context=ScanContext(at=timezone.now(), user_id=customer.pk),
    )
    api.as_customer(customer).app().post(f"verify/product/{verified.code}.{tag_of(verified)}", {})
    deliver_events()
    print_run_of(signed_batch, by=owner)
    run_jobs()
    support = staff(brand, role="support")
    client = browser(support)
    for label in ("authcodes.authcode", "authcodes.scan"):
        client.post(address(label, "export"), {"format": "csv"})
    run_jobs()

    texts = crawl(client)

    tags = [tag_of(code) for code in codes]
    assert len(texts) > 30
    assert [url for url, page_text in texts.items() if any(tag in page_text for tag in tags)] == []
    assert Scan.objects.exists()
    support_api = api.as_customer(support)
    for code in codes:
        assert not any(tag in support_api.get(f"auth-codes/{code.code}/scans").content.decode() for tag in tags)
    for job in Job.objects.all():
        answer = client.get(address("jobs.job", "download", job.pk))
        assert answer.status_code in {302, 403, 404} or not any(tag in text(answer) for tag in tags)
    assert client.get(address("authcodes.printrun", "batch", signed_batch.pk)).status_code == 403
    assert untagged.code in "".join(texts.values())


def test_tables_visible_to_support_contain_no_tag(signed_batch, customer, deliver_events):
    code = signed_batch.codes.first()
    scan.scan(scanned=f"{code.code}.{tag_of(code)}", context=ScanContext(at=timezone.now(), user_id=customer.pk))
    deliver_events()

    with connection.cursor() as cursor:
        for table in ("authcodes_scan", "events_event", "loyalty_transaction", "brands_auditlogentry"):
            cursor.execute(f"SELECT count(*) FROM {table} t WHERE t::text LIKE %s", [f"%{tag_of(code)}%"])
            assert cursor.fetchone()[0] == 0, table


# --- Plain or protected ----------------------------------------------------------------------------------------------


def test_form_of_a_new_batch_defaults_to_protected_codes(brand, owner):
    client = browser(owner)
    html = text(client.get(address("authcodes.batchrange", "add")))

    response = client.post(address("authcodes.batchrange", "add"), new_batch(brand, signed=""))

    radios = re.findall(r'<input type="radio" name="signed"[^>]*>', html)
    checked = {re.search(r'value="(\w+)"', radio)[1]: bool(re.search(r"\schecked[\s>=]", radio)) for radio in radios}
    assert checked == {"protected": True, "plain": False}
    assert "anyone who has seen one code can guess the next" in html
    assert "each code ends with a secret tag, so nobody can guess the next. Recommended" in html
    assert errors(response) == {"signed": ["Choose plain numbers or protected codes."]}


def test_lists_and_pages_of_batches_show_whether_codes_are_protected(brand, owner, signed_batch):
    client, plain_batch = browser(owner), factories.batch(brand)

    listed = text(client.get(address("authcodes.batchrange")))

    assert (listed.count("Protected"), listed.count("Plain numbers")) >= (1, 1)
    assert "Plain numbers" in text(client.get(address("authcodes.batchrange", "change", plain_batch.pk)))
    assert "Protected" in text(client.get(address("authcodes.batchrange", "change", signed_batch.pk)))
