"""Secret tags are for those who print: at every endpoint."""

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
from tests.support.portal import LABELS, address, browser, errors, links, printed, staff, text

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def portal(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path


# --- Tags are for those who print ------------------------------------------------------------------------------------


@pytest.fixture
def signed(brand, settings):
    settings.CODE_TAG_SECRETS = {1: "s" * 40}
    return factories.batch(brand, signed=True, quantity=3, prefix="SG-", scan_limit=5)


def tag_of(code):
    return signed_tags.tag(code=code.code, batch_id=code.batch_id, version=1)


@pytest.mark.parametrize(("role", "status"), [("owner", 200), ("manager", 200), ("printer", 200), ("support", 403)])
def test_addresses_of_qr_images_are_for_those_who_print(api, brand, signed, role, status):
    reader = api.as_customer(staff(brand, role=role))

    assert reader.get(f"batch-ranges/{signed.pk}/qr-codes").status_code == status


def everything_of(client):
    """Each page of the portal that somebody reaches from its lists, and each file."""
    seen, todo = {}, {address(label) for label in LABELS} | {"/admin/"}
    while todo and len(seen) < 400:
        where = todo.pop()
        answer = client.get(where)
        seen[where] = text(answer) if answer.status_code == 200 and not is_binary(answer) else ""
        if answer.status_code == 200:
            # Filters and orders of lists lead to more of the same rows.
            todo |= {link for link in links(seen[where]) if "?" not in link and "logout" not in link} - set(seen)
    return seen


def is_binary(answer):
    return not re.match(r"text/|application/(json|pdf)", answer["Content-Type"])


def test_support_sees_no_tag_on_any_page_and_in_any_file(api, brand, signed, customer, deliver, owner):
    codes = list(signed.codes.order_by("code"))
    scanned, untagged, via_event = codes
    scan.scan(
        scanned=f"https://brand.example/s/{scanned.code}.{tag_of(scanned)}",
        context=ScanContext(at=timezone.now(), user_id=customer.pk),
    )
    api.as_customer(customer).app().post(f"verify/product/{via_event.code}.{tag_of(via_event)}", {})
    deliver()
    printed(signed, by=owner)
    run_jobs()
    support = staff(brand, role="support")
    client = browser(support)
    for label in ("authcodes.authcode", "authcodes.scan"):
        client.post(address(label, "export"), {"format": "csv"})
    run_jobs()

    seen = everything_of(client)

    secret = [tag_of(code) for code in codes]
    assert len(seen) > 30
    assert [where for where, shown in seen.items() if any(tag in shown for tag in secret)] == []
    assert Scan.objects.exists()
    bare = api.as_customer(support)
    for code in codes:
        assert not any(tag in bare.get(f"auth-codes/{code.code}/scans").content.decode() for tag in secret)
    for job in Job.objects.all():
        answer = client.get(address("jobs.job", "download", job.pk))
        assert answer.status_code in {302, 403, 404} or not any(tag in text(answer) for tag in secret)
    assert client.get(address("authcodes.printrun", "batch", signed.pk)).status_code == 403
    assert untagged.code in "".join(seen.values())


def test_nothing_that_the_database_keeps_for_support_holds_a_tag(signed, customer, deliver):
    code = signed.codes.first()
    scan.scan(scanned=f"{code.code}.{tag_of(code)}", context=ScanContext(at=timezone.now(), user_id=customer.pk))
    deliver()

    with connection.cursor() as cursor:
        for table in ("authcodes_scan", "events_event", "loyalty_transaction", "brands_auditlogentry"):
            cursor.execute(f"SELECT count(*) FROM {table} t WHERE t::text LIKE %s", [f"%{tag_of(code)}%"])
            assert cursor.fetchone()[0] == 0, table


# --- Plain or protected ----------------------------------------------------------------------------------------------


def test_form_of_a_new_batch_begins_with_protected_codes(brand, owner):
    client = browser(owner)
    shown = text(client.get(address("authcodes.batchrange", "add")))

    refused = client.post(address("authcodes.batchrange", "add"), new_batch(brand, signed=""))

    radios = re.findall(r'<input type="radio" name="signed"[^>]*>', shown)
    checked = {re.search(r'value="(\w+)"', radio)[1]: bool(re.search(r"\schecked[\s>=]", radio)) for radio in radios}
    assert checked == {"protected": True, "plain": False}
    assert "anyone who has seen one code can guess the next" in shown
    assert "each code ends with a secret tag, so nobody can guess the next. Recommended" in shown
    assert errors(refused) == {"signed": ["Choose plain numbers or protected codes."]}


def test_lists_and_pages_of_batches_say_which(brand, owner, signed):
    client, plain = browser(owner), factories.batch(brand)

    listed = text(client.get(address("authcodes.batchrange")))

    assert (listed.count("Protected"), listed.count("Plain numbers")) >= (1, 1)
    assert "Plain numbers" in text(client.get(address("authcodes.batchrange", "change", plain.pk)))
    assert "Protected" in text(client.get(address("authcodes.batchrange", "change", signed.pk)))
