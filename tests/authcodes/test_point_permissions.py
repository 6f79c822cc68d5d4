"""Only managers and owners can set what scans earn, at every endpoint."""

import pytest
from django.core.files.base import ContentFile
from django.utils import timezone

from authcodes.codes import batches, bulk_changes
from authcodes.codes.batches import BatchSettings
from authcodes.codes.bulk_changes import Assignment, CodeChangeRequest
from authcodes.codes.ranges import full_range
from authcodes.errors import BatchRejected
from authcodes.imports import commit, uploads
from authcodes.imports.checks import COLUMNS
from authcodes.models.batches import BatchRange
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from authcodes.models.imports import Import, ImportRow
from brands.models.people import StaffRole
from brands.models.tenants import Brand
from loyalty.points import approvals
from tests.authcodes.conftest import new_batch, run_jobs
from tests.support import factories
from tests.support.portal import address, browser, errors, form_of, staff

pytestmark = pytest.mark.django_db


RANGES = "product_sku,auth_code_start,auth_code_end,location,points_per_scan\n"
RESTRICTED_SETTINGS = {"points_per_scan": 99, "scan_limit": 50, "expiration_date": "2040-01-01"}


@pytest.fixture(autouse=True)
def media_folder(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path


@pytest.fixture
def printer(brand):
    return staff(brand, role="printer")


def test_printer_cannot_set_points_limits_or_campaign_of_a_new_batch(brand, printer):
    """The attack is an unlimited batch with 99,999,999 points per scan."""
    factories.batch(brand, prefix="AUT-", starting_number=900)
    campaign = factories.campaign(brand)
    form_data = new_batch(brand, points_per_scan=99_999_999, scan_limit="", campaign=campaign.pk)

    browser(printer).post(address("authcodes.batchrange", "add"), form_data)

    batch = BatchRange.objects.get(range_name="Autumn")
    assert (batch.points_per_scan, batch.scan_limit, batch.campaign, batch.expiration_date) == (None, 1, None, None)


def test_printer_cannot_change_points_limits_or_campaign_of_a_batch(brand, printer):
    batch = factories.batch(brand)
    url, client = address("authcodes.batchrange", "change", batch.pk), browser(printer)
    campaign = factories.campaign(brand)

    client.post(
        url, {**form_of(client.get(url)), **RESTRICTED_SETTINGS, "campaign": campaign.pk, "range_name": "Renamed"}
    )

    batch.refresh_from_db()
    assert (batch.range_name, batch.points_per_scan, batch.scan_limit) == ("Renamed", None, 1)
    assert (batch.campaign, batch.expiration_date) == (None, None)


@pytest.mark.parametrize(("field", "value"), RESTRICTED_SETTINGS.items())
def test_manager_of_another_brand_has_only_the_printers_permissions(brand, field, value):
    factories.batch(brand, prefix="AUT-", starting_number=900)
    user = staff(factories.brand(), role="manager")
    StaffRole.objects.create(user=user, brand=brand, role="printer")

    response = browser(user).post(address("authcodes.batchrange", "add"), new_batch(brand, **{field: value}))

    assert errors(response) == {field: ["Only managers and owners can set this."]}


def test_printer_cannot_set_points_by_assigning_codes(brand, printer):
    batch, product = factories.batch(brand, assigned=False, quantity=3), factories.product(brand)
    fields = {"product": product.pk, "points_per_scan": 99, "first": batch.first_code, "last": batch.last_code}
    client = browser(printer)

    client.post(address("authcodes.batchrange", "assign", batch.pk), {**fields, "confirm": "1"})
    entered = {"codes": batch.first_code, "product": product.pk, "points_per_scan": 99, "confirm": "1"}
    client.post(address("authcodes.authcode", "assign"), entered)

    assert set(AuthCode.objects.values_list("product", "points_per_scan")) == {(product.pk, None)}


def test_code_change_with_points_by_a_printer_is_rejected(brand, printer):
    batch, product = factories.batch(brand, assigned=False, quantity=3), factories.product(brand)
    request = CodeChangeRequest(CodeChange.Kind.ASSIGNED, assignment=Assignment(product=product, points_per_scan=1))
    now = timezone.now()

    with pytest.raises(BatchRejected, match="Only managers and owners"):
        bulk_changes.change(codes=full_range(batch), requested=request, by=printer, at=now)
    with pytest.raises(BatchRejected, match="Only managers and owners"):
        bulk_changes.change_codes(codes=batch.codes.all(), requested=request, by=printer, at=now)


def test_unassigning_by_a_printer_does_not_clear_points(brand, printer, owner):
    batch = factories.batch(brand, quantity=2)
    AuthCode.objects.update(points_per_scan=3)
    undo = CodeChangeRequest(CodeChange.Kind.UNASSIGNED, "wrong")

    bulk_changes.change_codes(codes=batch.codes.all()[:1], requested=undo, by=printer, at=timezone.now())
    bulk_changes.change_codes(codes=batch.codes.all()[1:], requested=undo, by=owner, at=timezone.now())

    assert sorted(AuthCode.objects.values_list("product", "points_per_scan"), key=str) == [(None, 3), (None, None)]


@pytest.fixture
def expensive_product(brand, owner):
    """A product whose points above the ceiling were approved by another user."""
    product = factories.product(brand, sku="DEAR")
    approval = approvals.request_approval(
        row=product, brand=brand, values={"redeem_point_value": 5000}, max_total=None, by=owner, at=timezone.now()
    )
    approvals.approve(approval=approval, by=staff(brand, role="manager"), at=timezone.now())
    product.refresh_from_db()
    return product


def test_printer_cannot_create_a_batch_of_a_product_above_the_ceiling(brand, printer, owner, expensive_product):
    """The attack is a million codes of a product that earns 5,000 points per scan."""
    factories.batch(brand, prefix="AUT-", starting_number=900)
    form_data = new_batch(brand, product=expensive_product.pk)

    response = browser(printer).post(address("authcodes.batchrange", "add"), form_data)

    message = "Scans of this product earn more than 1,000 points. Only managers and owners can generate codes for it."
    assert errors(response) == {"product": [message]}
    batch_settings = BatchSettings(
        range_name="Mint", quantity=1, prefix="AUT-", product=expensive_product, signed=False
    )
    with pytest.raises(BatchRejected, match="Only managers and owners can generate codes for it"):
        batches.create_batch(brand=brand, batch_settings=batch_settings, at=timezone.now(), by=printer)
    assert BatchRange.objects.count() == 1

    browser(owner).post(address("authcodes.batchrange", "add"), form_data)
    assert BatchRange.objects.get(range_name="Autumn").product == expensive_product


def test_printer_can_create_batches_of_a_product_at_the_ceiling(brand, printer):
    factories.batch(brand, prefix="AUT-", starting_number=900)
    product = factories.product(brand, redeem_point_value=1000)

    browser(printer).post(address("authcodes.batchrange", "add"), new_batch(brand, product=product.pk))

    assert BatchRange.objects.get(range_name="Autumn").product == product


def test_printer_cannot_assign_codes_to_a_product_above_the_ceiling(brand, printer, owner, expensive_product):
    batch = factories.batch(brand, assigned=False, quantity=3)
    request, now = (
        CodeChangeRequest(CodeChange.Kind.ASSIGNED, assignment=Assignment(product=expensive_product)),
        timezone.now(),
    )

    with pytest.raises(BatchRejected, match="Only managers and owners"):
        bulk_changes.change(codes=full_range(batch), requested=request, by=printer, at=now)
    with pytest.raises(BatchRejected, match="Only managers and owners"):
        bulk_changes.change_codes(codes=batch.codes.all(), requested=request, by=printer, at=now)

    assert bulk_changes.change(codes=full_range(batch), requested=request, by=owner, at=now) == 3


@pytest.mark.parametrize(("role", "column"), [("printer", "product_sku"), ("manager", "")])
def test_printer_cannot_import_code_ranges_of_a_product_above_the_ceiling(brand, expensive_product, role, column):
    checked_import(brand, staff(brand, role=role), "", product=expensive_product)

    assert ImportRow.objects.get().error_column == column


def test_printer_cannot_import_a_code_list_of_a_product_above_the_ceiling(brand, printer, expensive_product):
    batch = factories.batch(brand, assigned=False, quantity=2)
    content = f"{','.join(COLUMNS['list'])}\n{batch.first_code},,\n".encode()

    uploads.upload(
        brand=brand, kind="list", product=expensive_product, file=ContentFile(content), name="codes.csv", by=printer
    )
    run_jobs()

    assert "Only managers and owners" in ImportRow.objects.get().error


def checked_import(brand, by, points, product=None):
    batch, product = factories.batch(brand, assigned=False, quantity=2), product or factories.product(brand)
    content = f"{RANGES}{product.sku},{batch.first_code},{batch.last_code},,{points}\n".encode()
    upload = uploads.upload(
        brand=brand, kind="ranges", product=None, file=ContentFile(content), name="codes.csv", by=by
    )
    run_jobs()
    upload.refresh_from_db()
    return upload


@pytest.mark.parametrize(
    ("role", "points", "error"),
    [
        ("printer", 1, "Only managers and owners can set points."),
        ("printer", 0, "Only managers and owners can set points."),
        ("printer", "", None),
        ("manager", 1000, None),
        ("manager", 1001, "At most 1,000 points per scan."),
        ("owner", 2_000_000_000, "At most 1,000 points per scan."),
    ],
)
def test_import_sets_only_points_that_its_uploader_may_set(brand, role, points, error):
    upload = checked_import(brand, staff(brand, role=role), points)

    row = ImportRow.objects.get(upload=upload)
    assert row.problem.startswith(error) if error else row.error == ""


@pytest.mark.parametrize("change", ["the ceiling falls", "the role ends"])
def test_import_is_checked_again_when_it_is_committed(brand, owner, change):
    upload = checked_import(brand, owner, 500)
    commit.commit(upload=upload, skip_bad=False, by=owner)
    if change == "the ceiling falls":
        Brand.objects.filter(pk=brand.pk).update(max_points_per_scan=100)
    else:
        StaffRole.objects.filter(user=owner).update(role="printer")

    run_jobs()

    assert not AuthCode.objects.filter(points_per_scan__isnull=False).exists()
    assert Import.objects.get().status == "checked"
    assert ImportRow.objects.get().error_column == "points_per_scan"


@pytest.mark.parametrize(
    "label", ["authcodes.product", "loyalty.brandlevel", "campaigns.earningrule", "campaigns.campaign"]
)
@pytest.mark.parametrize("role", ["printer", "support"])
def test_printers_and_support_cannot_change_rows_that_earn_points(brand, label, role):
    rows = {
        "authcodes.product": factories.product(brand),
        "loyalty.brandlevel": factories.level(brand, "Gold", 500),
        "campaigns.earningrule": factories.earning_rule(brand, "log-user-login"),
        "campaigns.campaign": factories.campaign(brand),
    }
    client = browser(staff(brand, role=role))
    before = type(rows[label]).objects.filter(pk=rows[label].pk).values().get()

    answers = [
        client.post(address(label, "change", rows[label].pk), {"redeem_point_value": 9, "reward_value": 9}),
        client.post(address(label, "add"), {"brand": brand.pk}),
    ]

    assert {answer.status_code for answer in answers} <= {403, 404}
    assert type(rows[label]).objects.filter(pk=rows[label].pk).values().get() == before
