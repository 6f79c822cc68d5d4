"""The page of imports for each kind of file: its columns, remedies and codes that were printed elsewhere."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

import authcodes.admin.imports  # noqa: F401 - the page under test
from authcodes.models.batches import BatchRange
from authcodes.models.imports import Import
from brands.identity import roles
from tests.authcodes.imports.import_pages import LIST, import_url, page_text, post_upload, run_jobs, upload_and_check
from tests.support import factories
from tests.support.portal import browser, staff, text


@pytest.fixture(autouse=True)
def portal(settings, tmp_path, monkeypatch):
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setitem(roles.TABLE, "authcodes.import", {**roles.TABLE["authcodes.import"], "support": "v"})


@pytest.fixture
def product(brand):
    factories.batch(brand, assigned=False, quantity=20, prefix="A")
    return factories.product(brand, sku="SKU-A")


RANGES = "product_sku,auth_code_start,auth_code_end,location,points_per_scan\n"


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        (LIST, "list"),
        (RANGES, "ranges"),
        (RANGES.replace(",", ";"), "ranges"),
        (LIST.replace("notes", "notes,error"), "list"),
        ("a,b,c\n", "list"),  # rejected by its check with a message
    ],
)
def test_the_kind_of_a_file_is_recognised_by_its_header(brand, owner, product, header, kind):
    post_upload(owner, brand, f"{header}A0001,A0002,,,\n", product=product.pk)

    assert Import.objects.get().kind == kind


def test_ranges_can_be_uploaded_without_choosing_a_product(brand, owner, product):
    post_upload(owner, brand, f"{RANGES}SKU-A,A0001,A0002,,\n")
    run_jobs()

    assert (Import.objects.get().status, Import.objects.get().bad_rows) == ("checked", 0)


def test_page_adds_remedies_to_the_specified_error_texts(brand, owner, product):
    factories.batch(brand, product=factories.product(brand, sku="SKU-TAKEN"), quantity=5, prefix="T")
    other_brand = factories.brand()
    factories.product(other_brand, sku="SKU-AA")
    rows = ["SKU-AA,A0001,A0002,,", "SKU-A,T0002,T0003,,", "OTHER,A0005,A0005,,"]
    post_upload(owner, brand, RANGES + "\n".join(rows))
    run_jobs()

    upload = Import.objects.get()
    page = page_text(owner, upload)

    assert list(upload.lines.values_list("error", flat=True)) == [
        "Product SKU not found",
        "Auth code range already assigned",
        "Product SKU not found",
    ]
    assert page.count("Did you mean") == 1
    assert "Did you mean SKU-A?" in page
    assert "T0002 is assigned to SKU-TAKEN." in page


def test_corrected_file_can_be_uploaded_from_the_page_of_the_failed_import(brand, owner, product):
    upload = upload_and_check(owner, brand, product, "A0001,,\nB0001,,\n")
    file = SimpleUploadedFile("mended.csv", f"{LIST}A0001,,\n".encode(), content_type="text/csv")

    answer = browser(owner).post(import_url("again", upload.pk), {"file": file})
    corrected = Import.objects.latest("pk")
    run_jobs()
    corrected.refresh_from_db()

    assert import_url("again", upload.pk) in page_text(owner, upload)
    assert answer["Location"] == import_url("change", corrected.pk)
    assert (corrected.product, corrected.kind, corrected.bad_rows, corrected.file_name) == (
        product,
        "list",
        0,
        "mended.csv",
    )
    assert import_url("again", corrected.pk) not in page_text(owner, corrected)


def test_uploading_again_without_a_file_is_rejected(brand, owner, product):
    upload = upload_and_check(owner, brand, product, "B0001,,\n")

    answer = browser(owner).post(import_url("again", upload.pk), follow=True)

    assert "Choose the corrected file." in text(answer)
    assert Import.objects.count() == 1


@pytest.mark.parametrize(("role", "status"), [("support", 403), (None, 404)])
def test_uploading_again_requires_permission_to_import(brand, owner, product, role, status):
    upload = upload_and_check(owner, brand, product, "B0001,,\n")
    other_staff = staff(brand, role=role) if role else staff(factories.brand())
    file = SimpleUploadedFile("mended.csv", LIST.encode(), content_type="text/csv")

    assert browser(other_staff).post(import_url("again", upload.pk), {"file": file}).status_code == status
    assert Import.objects.count() == 1


# --- Codes printed elsewhere

PRINTED = "auth_code,payload,inventory_location,notes\nK7F3,https://old.example/p/K7F3,,\nM2XW,,,\n"


def test_codes_printed_elsewhere_become_a_batch_with_the_form_settings(brand, owner, product):
    campaign = factories.campaign(brand)
    fields = {
        "product": product.pk,
        "range_name": "Old labels",
        "points_per_scan": 7,
        "scan_limit": 3,
        "expiration_date": "2030-12-31",
        "campaign": campaign.pk,
        "after_campaign": "nothing",
    }

    assert post_upload(owner, brand, PRINTED, **fields).status_code == 302
    run_jobs()
    upload = Import.objects.get()
    page = page_text(owner, upload)
    browser(owner).post(import_url("commit", upload.pk))
    run_jobs()

    assert "https://old.example/p/K7F3" in page
    batch = BatchRange.objects.get(printed_elsewhere=True)
    stored = {name: getattr(batch, name) for name in fields if name not in {"product", "campaign", "expiration_date"}}
    assert stored == {name: fields[name] for name in stored}
    assert (batch.campaign, batch.product, batch.expiration_date.isoformat()) == (campaign, product, "2030-12-31")
    assert batch.codes.count() == 2


def form_errors(user, brand, **fields):
    return post_upload(user, brand, PRINTED, **fields).context["adminform"].form.errors


def test_invalid_settings_of_a_printed_batch_are_reported_at_their_fields(brand, owner, product):
    factories.batch(brand, quantity=1, range_name="Taken")
    other_campaign = factories.campaign(factories.brand())
    chosen = {"product": product.pk}

    assert list(form_errors(owner, brand, **chosen)) == ["range_name"]
    assert list(form_errors(owner, brand, range_name="Taken", **chosen)) == ["range_name"]
    assert list(form_errors(owner, brand, range_name="New")) == ["product"]
    for name, value in [("scan_limit", 0), ("points_per_scan", -1), ("expiration_date", "2030-02-30")]:
        assert list(form_errors(owner, brand, range_name="New", **chosen, **{name: value})) == [name]
    assert list(form_errors(owner, brand, range_name="New", campaign=other_campaign.pk, **chosen)) == ["campaign"]
    assert not Import.objects.exists()


def test_a_printer_cannot_set_points_limits_or_campaigns(brand, product):
    printer = staff(brand, role="printer")
    page = text(browser(printer).get(import_url("add")))

    assert 'name="range_name"' in page
    for name in ("points_per_scan", "scan_limit", "expiration_date", "campaign", "after_campaign"):
        assert f'name="{name}"' not in page
    fields = {"product": product.pk, "range_name": "Old labels", "points_per_scan": 9}
    assert post_upload(printer, brand, PRINTED, **fields).status_code == 302
    run_jobs()
    browser(printer).post(import_url("commit", Import.objects.get().pk))
    run_jobs()
    assert BatchRange.objects.get(printed_elsewhere=True).points_per_scan is None
