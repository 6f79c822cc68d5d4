"""Checks before codes are printed: recalls, links, modules, sizes and earlier runs."""

from dataclasses import replace
from decimal import Decimal

import pytest
from django.db.models import Count, Max, Min
from django.utils import timezone

from authcodes.codes import ranges
from authcodes.codes.ranges import full_range
from authcodes.models.codes import AuthCode
from authcodes.models.prints import PrintRun
from authcodes.printing import checks, selection
from authcodes.printing import runs as prints
from authcodes.printing.labels.presets import PRESETS, Sheet
from authcodes.printing.request import PrintRequest
from authcodes.recalls import recalls
from brands.models.tenants import BrandHostname
from core.errors import Invalid
from jobs.models import Job
from tests.authcodes.printing.print_helpers import GTIN
from tests.support import factories
from tests.support.print_jobs import finished, start

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("media")]


@pytest.fixture
def brand(db):
    return factories.brand(hostname="tea.example.com")


def recall(batch):
    recall_fields = {"recall_id": "R-1", "contact": "x", "message": "x", "reason": "x"}
    return recalls.recall_batch(batch=batch, at=timezone.now(), **recall_fields)


def selection_of(batch):
    return selection.of_range(full_range(batch))


def list_of(brand):
    codes = AuthCode.objects.filter(brand=brand)
    bounds = codes.aggregate(first=Min("code"), last=Max("code"), count=Count("pk"))
    return selection.Selection(brand, codes, **bounds)


# --- Errors and warnings ---------------------------------------------------------------------------------------------


def test_recalled_batch_is_not_printed(brand):
    batch = factories.batch(brand)
    recall(batch)

    with pytest.raises(Invalid, match="Recalled codes"):
        start(batch)

    assert not PrintRun.objects.exists()
    assert not Job.objects.filter(kind="print-batch").exists()


def test_recall_before_the_job_runs_stops_the_print(brand):
    batch = factories.batch(brand)
    run = start(batch, output="png")
    recall(batch)

    run = finished(run)

    assert (run.job.status, run.job.result.name, run.sha256) == ("failed", "", "")
    assert "Recalled codes" in run.job.log


def test_deactivated_codes_give_a_warning(brand):
    batch = factories.batch(brand, quantity=3)
    factories.deactivate(codes=[batch.codes.first()], at=timezone.now())

    assert checks.warnings(selection_of(batch), PrintRequest()) == [
        "1 of these codes is deactivated. It will be printed but scans as not valid."
    ]


@pytest.mark.parametrize(
    ("gtin", "prefix", "message"),
    [
        ("", "A", "have no product with a GTIN"),
        ("4006381333932", "A", "4006381333932 has a wrong check digit"),
        (GTIN, "SEVENTEEN-LETTERS", "at most 20 characters"),
    ],
)
def test_digital_links_need_a_valid_gtin_and_a_short_serial(brand, gtin, prefix, message):
    batch = factories.batch(brand, prefix=prefix, product=factories.product(brand, gtin=gtin))

    with pytest.raises(Invalid, match=message) as rejected:
        start(batch, payload="gs1")

    assert rejected.value.details == {"field": "payload"}


def test_brand_without_a_hostname_prints_bare_codes_only(brand):
    batch = factories.batch(brand)
    BrandHostname.objects.all().delete()

    with pytest.raises(Invalid, match="no hostname"):
        start(batch)

    assert start(batch, payload="code").codes == 1


def test_modules_too_small_to_scan_give_a_warning(brand):
    batch = factories.batch(brand, prefix="A-LONG-PREFIX-THAT-NEEDS-ROOM-")
    small = PrintRequest(output="png", level="H", size_mm=Decimal(20))

    (warning,) = checks.warnings(selection_of(batch), small)

    assert "Codes with modules narrower than 0.396 mm" in warning
    assert checks.warnings(selection_of(batch), PrintRequest(output="png")) == []


@pytest.mark.parametrize("output", ["png", "labels"])
def test_warning_of_a_list_is_about_its_densest_symbol(brand, output):
    factories.batch(brand, prefix="A-")
    dense = factories.batch(brand, prefix="A-LONG-PREFIX-THAT-NEEDS-ROOM-", error_correction="H")
    factories.batch(brand, prefix="B-")
    listed = list_of(brand)
    small = PrintRequest(output=output, size_mm=Decimal(20))

    (warning,) = checks.warnings(listed, small)

    assert checks.densest_of(listed, small).batch == dense
    assert "0.396 mm" in warning
    assert checks.warnings(listed, small, thorough=False) == []
    assert checks.warnings(listed, replace(small, level="L", payload="code")) == []


def test_every_batch_of_a_list_must_fit_a_digital_link(brand):
    product = factories.product(brand, gtin=GTIN)
    factories.batch(brand, prefix="A", product=product)
    factories.batch(brand, prefix="SEVENTEEN-LETTERS", product=product)

    with pytest.raises(Invalid, match="at most 20 characters"):
        checks.check(list_of(brand), PrintRequest(payload="gs1"))


@pytest.mark.parametrize("batches_listed", [1, 30])
def test_query_count_for_the_densest_symbol_does_not_grow_with_batches(
    brand, batches_listed, django_assert_num_queries
):
    for _ in range(batches_listed):
        factories.batch(brand)
    listed = list_of(brand)

    with django_assert_num_queries(2):
        checks.densest_of(listed, PrintRequest())


def test_requested_size_overrides_the_number_of_labels(brand):
    print_request = PrintRequest(size_mm=Decimal("50.8"))

    (warning,) = checks.warnings(selection_of(factories.batch(brand)), print_request)

    assert print_request.design().sheet == PRESETS["grid-20"].sheet
    assert "will be printed instead" in warning


@pytest.mark.parametrize(("size", "preset"), [("20", "letter-30"), ("33", "grid-30"), ("40", "grid-20")])
def test_sheet_has_as_many_labels_as_the_size_allows(size, preset):
    assert PrintRequest(size_mm=Decimal(size)).fitting_preset.name == preset


def test_settings_are_the_same_after_storing_and_reading():
    sheet = Sheet(*(Decimal(number) for number in ("210", "297", "5.5", "5", "60", "60", "60", "60")), 3, 4)
    print_request = PrintRequest(
        output="labels", size_mm=Decimal("33.3"), sheet=sheet, start=4, offset_x=Decimal("-0.5")
    )

    assert PrintRequest.from_json(print_request.to_json()) == print_request


# --- Earlier runs ----------------------------------------------------------------------------------------------------


def test_earlier_runs_are_active_runs_that_share_a_code(brand):
    batch, other_batch = factories.batch(brand, quantity=9), factories.batch(brand, quantity=9)
    runs = {
        "before": start(batch, first="1", last="3"),
        "within": start(batch, first="5", last="5"),
        "cancelled": start(batch, first="4", last="6"),
        "failed": start(batch, first="4", last="6"),
        "other": start(other_batch),
    }
    Job.objects.filter(print_run=runs["cancelled"]).update(status="cancelled")
    Job.objects.filter(print_run=runs["failed"]).update(status="failed")
    requested = selection.of_range(ranges.resolve_range(batch=batch, first="4", last="6"))

    assert list(prints.earlier(requested)) == [runs["within"]]
    assert list(prints.earlier(selection_of(batch))) == [runs["within"], runs["before"]]
