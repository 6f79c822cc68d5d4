"""A code's page: its scans, what came of them, and what staff did to it, newest first."""

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


def life(client, code):
    """The entries that its page shows: a change's kind or a scan's reason."""
    entries = page(client, code).context["timeline"]["entries"]
    return [entry.change.kind if entry.change else entry.scan.reason for entry in entries]


def test_scans_and_changes_stand_in_one_line_newest_first(client, owner, customer, code, deliver):
    place = ScanLocation(city="Pune", region="Maharashtra")
    now = timezone.now()
    scanning.scan(scanned=code.code, context=ScanContext(at=now - timedelta(hours=2), user_id=customer.pk, place=place))
    deliver()
    factories.deactivate(codes=[code], at=now - timedelta(hours=1), reason="stolen", by=owner)
    scanning.scan(scanned=code.code, context=ScanContext(at=now))

    answer = page(client, code)

    assert life(client, code) == ["deactivated", "generated", "deactivated", "accepted"]
    shown = text(answer)
    assert all(
        expected_text in shown
        for expected_text in (customer.email, "Pune, Maharashtra", "10 points", "stolen", owner.email)
    )
    assert (answer.context["timeline"]["scan_count"], answer.context["timeline"]["points"]) == (2, "10")


@pytest.mark.parametrize(("count", "is_cut"), [(28, False), (31, True)])
def test_a_cut_history_says_so_whatever_it_is_made_of(client, owner, code, count, is_cut):
    """The batch's generation is one change more, as is the scan of the second look."""
    for number in range(count):
        factories.deactivate(codes=[code], at=timezone.now(), reason=f"{number}", by=owner)
        type(code).objects.filter(pk=code.pk).update(deactivated_at=None)

    assert ("Only the latest 30 entries are shown." in text(page(client, code))) == is_cut
    assert ("All its scans" in text(page(client, code))) is False

    scan(code)
    assert ("All its scans" in text(page(client, code))) == is_cut


def test_times_are_the_brands(client, brand, code):
    brand.time_zone = "Asia/Kolkata"
    brand.save()
    scan(code, scanned_at=timezone.now().replace(hour=20, minute=0))

    assert "01:30 IST" in text(page(client, code))


def test_only_what_was_done_to_this_code_is_told(client, code):
    others = list(code.batch.codes.exclude(pk=code.pk))
    factories.deactivate(codes=others, at=timezone.now(), reason="the others")
    scan(others[0])

    assert life(client, code) == ["generated"]
    assert life(client, others[0]) == ["accepted", "deactivated", "generated"]


def upload(brand, owner, product, *names):
    lines = "".join(f"{name},,\r\n" for name in names)
    content = File(BytesIO(f"auth_code,inventory_location,notes\r\n{lines}".encode()))
    made = uploads.upload(brand=brand, kind="list", product=product, file=content, name="spring.csv", by=owner)
    runner.run(Job.objects.get(kind="check-import", parameters__import_id=made.pk).pk)
    made.refresh_from_db()
    runner.run(commit.commit(upload=made, skip_bad=False, by=owner).pk)
    made.refresh_from_db()
    return made


def imported(brand, owner, *numbers):
    """Five codes of which an import names those with these numbers, and the import."""
    batch = factories.batch(brand, prefix="CD-", quantity=5, assigned=False)
    made = upload(brand, owner, factories.product(brand), *(f"CD-{number:04d}" for number in numbers))
    return list(batch.codes.order_by("code")), made


def test_an_import_is_told_of_the_codes_that_it_named(client, brand, owner):
    codes, made = imported(brand, owner, 4, 1, 2)

    assert [life(client, code) for code in codes] == [
        ["imported", "generated"],
        ["imported", "generated"],
        ["generated"],
        ["imported", "generated"],
        ["generated"],
    ]
    lines = codes[0].batch.changes.filter(kind="imported").order_by("id")
    assert [(line.first_code, line.last_code, line.codes) for line in lines] == [
        ("CD-0001", "CD-0002", 2),
        ("CD-0004", "CD-0004", 1),
    ]
    assert {(line.upload, line.product, line.changed_by) for line in lines} == {(made, made.product, owner)}
    assert len({line.action_id for line in lines}) == 1
    assert "spring.csv" in text(page(client, codes[0]))


def test_undoing_an_import_is_told_too(client, brand, owner):
    codes, made = imported(brand, owner, 1)

    runner.run(commit.undo(upload=made, by=owner, at=timezone.now()).pk)

    assert life(client, codes[0]) == ["import_undone", "imported", "generated"]


def test_of_an_import_with_many_gaps_one_line_says_how_many(client, brand, owner, monkeypatch):
    monkeypatch.setattr("authcodes.codes.history.MAX_RUNS", 1)

    codes, _made = imported(brand, owner, 1, 2, 4)

    line = codes[0].batch.changes.get(kind="imported")
    assert (line.first_code, line.last_code, line.codes) == ("CD-0001", "CD-0004", 3)
    assert "with 3 of the codes CD-0001 … CD-0004" in text(page(client, codes[2]))


def test_page_offers_what_the_code_may_become(client, code):
    def offered():
        return {action["url"] for action in page(client, code).context["code_summary"]["actions"]}

    assign = address("authcodes.authcode", "assign") + "?codes=AB-0003"
    assert offered() == {assign, address("authcodes.authcode", "deactivate", code.pk)}
    factories.deactivate(codes=[code], at=timezone.now(), reason="stolen")
    assert offered() == {assign, address("authcodes.authcode", "reactivate", code.pk)}


def test_recall_and_batch_are_at_hand(client, code):
    recall_fields = dict.fromkeys(("recall_id", "contact", "message", "reason"), "R-1")
    recall = recalls.recall_batch(batch=code.batch, at=timezone.now(), **recall_fields)

    shown = text(page(client, code))

    assert address("authcodes.recall", "change", recall.pk) in shown
    assert address("authcodes.batchrange", "change", code.batch_id) in shown


def test_printer_sees_changes_and_no_customers(brand, customer, code):
    scan(code, user=customer)
    client = browser(staff(brand, role="printer"))

    shown = text(page(client, code))

    assert life(client, code) == ["generated"]
    assert customer.email not in shown
    assert address("authcodes.scan") not in shown


def test_whose_customer_somebody_elses_was_is_not_told(client, code):
    stranger = factories.customer(factories.brand())
    scan(code, user=stranger, outcome="error", reason="other_brand")

    shown = text(page(client, code))

    assert stranger.email not in shown
    assert "another brand" in shown


@pytest.mark.parametrize("many", [10, 1000])
def test_page_costs_the_same_however_long_the_life(client, code, many):
    former = factories.product(code.brand)
    Scan.objects.bulk_create(
        Scan(brand=code.brand, auth_code=code, batch=code.batch, product=former, code=code.code,
             outcome="success", reason="accepted", points_status="guest")
        for _ in range(many)
    )  # fmt: skip

    with CaptureQueriesContext(connection) as queries:
        answer = page(client, code)

    assert len(queries) == 14
    timeline = answer.context["timeline"]
    assert (len(timeline["entries"]), timeline["scan_count"], timeline["is_cut"]) == (
        min(many + 1, 30),
        many,
        many > 30,
    )


def test_editing_a_code_is_told(client, owner, code):
    its = address("authcodes.authcode", "change", code.pk)

    client.post(its, {**form_of(client.get(its)), "notes": "scratched"})

    assert life(client, code) == ["edited", "generated"]
    assert "notes: empty → scratched" in text(page(client, code))
