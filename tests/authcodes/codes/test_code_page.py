"""A code's page: its scans with their results, and the changes by staff, newest first."""

from datetime import timedelta
from io import BytesIO

import pytest
from django.core.files.base import File
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from authcodes.imports import commit, uploads
from authcodes.models.scans import Scan
from authcodes.recalls import recalls
from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext, ScanLocation
from jobs import runner
from jobs.models import Job
from tests.support import factories
from tests.support.portal import address, browser, form_of, scan, staff, text

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.fixture
def code(brand):
    return factories.batch(brand, prefix="AB-", quantity=5, scan_limit=None).codes.get(code="AB-0003")


def page(client, code):
    return client.get(address("authcodes.authcode", "change", code.pk))


def timeline_of(client, code):
    """The entries of the timeline on the code's page: a change's kind or a scan's reason."""
    entries = page(client, code).context["timeline"]["entries"]
    return [entry.change.kind if entry.change else entry.scan.reason for entry in entries]


def test_scans_and_changes_are_in_one_timeline_newest_first(client, owner, customer, code, deliver_events):
    place = ScanLocation(city="Pune", region="Maharashtra")
    now = timezone.now()
    scanning.scan(scanned=code.code, context=ScanContext(at=now - timedelta(hours=2), user_id=customer.pk, place=place))
    deliver_events()
    factories.deactivate(codes=[code], at=now - timedelta(hours=1), reason="stolen", by=owner)
    scanning.scan(scanned=code.code, context=ScanContext(at=now))

    answer = page(client, code)

    assert timeline_of(client, code) == ["deactivated", "generated", "deactivated", "accepted"]
    html = text(answer)
    assert all(
        expected_text in html
        for expected_text in (customer.email, "Pune, Maharashtra", "10 points", "stolen", owner.email)
    )
    assert (answer.context["timeline"]["scan_count"], answer.context["timeline"]["points"]) == (2, "10")


@pytest.mark.parametrize(("count", "is_cut"), [(28, False), (31, True)])
def test_truncated_timeline_says_so(client, owner, code, count, is_cut):
    """Besides these changes there are the batch's generation and, for the second page, a scan."""
    for number in range(count):
        factories.deactivate(codes=[code], at=timezone.now(), reason=f"{number}", by=owner)
        type(code).objects.filter(pk=code.pk).update(deactivated_at=None)

    assert ("Only the latest 30 entries are shown." in text(page(client, code))) == is_cut
    assert ("All its scans" in text(page(client, code))) is False

    scan(code)
    assert ("All its scans" in text(page(client, code))) == is_cut


def test_times_are_in_the_brands_time_zone(client, brand, code):
    brand.time_zone = "Asia/Kolkata"
    brand.save()
    scan(code, scanned_at=timezone.now().replace(hour=20, minute=0))

    assert "01:30 IST" in text(page(client, code))


def test_timeline_has_only_changes_of_this_code(client, code):
    other_codes = list(code.batch.codes.exclude(pk=code.pk))
    factories.deactivate(codes=other_codes, at=timezone.now(), reason="the others")
    scan(other_codes[0])

    assert timeline_of(client, code) == ["generated"]
    assert timeline_of(client, other_codes[0]) == ["accepted", "deactivated", "generated"]


def upload(brand, owner, product, *names):
    lines = "".join(f"{name},,\r\n" for name in names)
    content = File(BytesIO(f"auth_code,inventory_location,notes\r\n{lines}".encode()))
    import_ = uploads.upload(brand=brand, kind="list", product=product, file=content, name="spring.csv", by=owner)
    runner.run(Job.objects.get(kind="check-import", parameters__import_id=import_.pk).pk)
    import_.refresh_from_db()
    runner.run(commit.commit(upload=import_, skip_bad=False, by=owner).pk)
    import_.refresh_from_db()
    return import_


def import_codes(brand, owner, *numbers):
    """Five codes, and an import that lists those with these numbers."""
    batch = factories.batch(brand, prefix="CD-", quantity=5, assigned=False)
    import_ = upload(brand, owner, factories.product(brand), *(f"CD-{number:04d}" for number in numbers))
    return list(batch.codes.order_by("code")), import_


def test_import_is_in_the_timeline_of_its_codes_only(client, brand, owner):
    codes, import_ = import_codes(brand, owner, 4, 1, 2)

    assert [timeline_of(client, code) for code in codes] == [
        ["imported", "generated"],
        ["imported", "generated"],
        ["generated"],
        ["imported", "generated"],
        ["generated"],
    ]
    lines = codes[0].batch.changes.filter(kind="imported").order_by("id")
    assert [(change.first_code, change.last_code, change.codes) for change in lines] == [
        ("CD-0001", "CD-0002", 2),
        ("CD-0004", "CD-0004", 1),
    ]
    assert {(change.upload, change.product, change.changed_by) for change in lines} == {
        (import_, import_.product, owner)
    }
    assert len({change.action_id for change in lines}) == 1
    assert "spring.csv" in text(page(client, codes[0]))


def test_undone_import_is_in_the_timeline(client, brand, owner):
    codes, import_ = import_codes(brand, owner, 1)

    runner.run(commit.undo(upload=import_, by=owner, at=timezone.now()).pk)

    assert timeline_of(client, codes[0]) == ["import_undone", "imported", "generated"]


def test_import_with_many_gaps_is_one_entry_with_the_number_of_codes(client, brand, owner, monkeypatch):
    monkeypatch.setattr("authcodes.codes.history.MAX_RUNS", 1)

    codes, _import = import_codes(brand, owner, 1, 2, 4)

    change = codes[0].batch.changes.get(kind="imported")
    assert (change.first_code, change.last_code, change.codes) == ("CD-0001", "CD-0004", 3)
    assert "with 3 of the codes CD-0001 … CD-0004" in text(page(client, codes[2]))


def test_page_offers_the_changes_possible_for_the_code(client, code):
    def offered_urls():
        return {action["url"] for action in page(client, code).context["code_summary"]["actions"]}

    assign_url = address("authcodes.authcode", "assign") + "?codes=AB-0003"
    assert offered_urls() == {assign_url, address("authcodes.authcode", "deactivate", code.pk)}
    factories.deactivate(codes=[code], at=timezone.now(), reason="stolen")
    assert offered_urls() == {assign_url, address("authcodes.authcode", "reactivate", code.pk)}


def test_page_links_to_recall_and_batch(client, code):
    recall_fields = dict.fromkeys(("recall_id", "contact", "message", "reason"), "R-1")
    recall = recalls.recall_batch(batch=code.batch, at=timezone.now(), **recall_fields)

    html = text(page(client, code))

    assert address("authcodes.recall", "change", recall.pk) in html
    assert address("authcodes.batchrange", "change", code.batch_id) in html


def test_printer_sees_changes_but_no_customers(brand, customer, code):
    scan(code, user=customer)
    client = browser(staff(brand, role="printer"))

    html = text(page(client, code))

    assert timeline_of(client, code) == ["generated"]
    assert customer.email not in html
    assert address("authcodes.scan") not in html


def test_customer_of_another_brand_is_not_named(client, code):
    other_brands_customer = factories.customer(factories.brand())
    scan(code, user=other_brands_customer, outcome="error", reason="other_brand")

    html = text(page(client, code))

    assert other_brands_customer.email not in html
    assert "another brand" in html


@pytest.mark.parametrize("scan_count", [10, 1000])
def test_page_query_count_does_not_grow_with_scans(client, code, scan_count):
    former_product = factories.product(code.brand)
    Scan.objects.bulk_create(
        Scan(brand=code.brand, auth_code=code, batch=code.batch, product=former_product, code=code.code,
             outcome="success", reason="accepted", points_status="guest")
        for _ in range(scan_count)
    )  # fmt: skip

    with CaptureQueriesContext(connection) as queries:
        answer = page(client, code)

    assert len(queries) == 14
    timeline = answer.context["timeline"]
    assert (len(timeline["entries"]), timeline["scan_count"], timeline["is_cut"]) == (
        min(scan_count + 1, 30),
        scan_count,
        scan_count > 30,
    )


def test_edited_code_is_in_the_timeline(client, owner, code):
    url = address("authcodes.authcode", "change", code.pk)

    client.post(url, {**form_of(client.get(url)), "notes": "scratched"})

    assert timeline_of(client, code) == ["edited", "generated"]
    assert "notes: empty → scratched" in text(page(client, code))
