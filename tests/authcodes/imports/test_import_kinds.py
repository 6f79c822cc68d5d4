"""The page of imports for each kind of file: its columns, remedies, and codes that were printed elsewhere."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

import authcodes.admin.imports  # noqa: F401 - the page under test
from authcodes.models.batches import BatchRange
from authcodes.models.imports import Import
from brands.identity import roles
from tests.authcodes.imports.import_pages import LIST, address, run_jobs, send, shown, uploaded
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
        ("a,b,c\n", "list"),  # refused by its check, in words
    ],
)
def test_the_header_says_what_a_file_holds(brand, owner, product, header, kind):
    send(owner, brand, f"{header}A0001,A0002,,,\n", product=product.pk)

    assert Import.objects.get().kind == kind


def test_ranges_need_no_product_to_be_chosen(brand, owner, product):
    send(owner, brand, f"{RANGES}SKU-A,A0001,A0002,,\n")
    run_jobs()

    assert (Import.objects.get().status, Import.objects.get().bad_rows) == ("checked", 0)


def test_errors_name_their_remedy_beside_the_specifications_words(brand, owner, product):
    factories.batch(brand, product=factories.product(brand, sku="SKU-TAKEN"), quantity=5, prefix="T")
    stranger = factories.brand()
    factories.product(stranger, sku="SKU-AA")
    rows = ["SKU-AA,A0001,A0002,,", "SKU-A,T0002,T0003,,", "OTHER,A0005,A0005,,"]
    send(owner, brand, RANGES + "\n".join(rows))
    run_jobs()

    upload = Import.objects.get()
    page = shown(owner, upload)

    assert list(upload.lines.values_list("error", flat=True)) == [
        "Product SKU not found",
        "Auth code range already assigned",
        "Product SKU not found",
    ]
    assert page.count("Did you mean") == 1
    assert "Did you mean SKU-A?" in page
    assert "T0002 is assigned to SKU-TAKEN." in page


def test_a_corrected_file_is_uploaded_again_from_the_page_of_the_failed_import(brand, owner, product):
    upload = uploaded(owner, brand, product, "A0001,,\nB0001,,\n")
    file = SimpleUploadedFile("mended.csv", f"{LIST}A0001,,\n".encode(), content_type="text/csv")

    answer = browser(owner).post(address("again", upload.pk), {"file": file})
    again = Import.objects.latest("pk")
    run_jobs()
    again.refresh_from_db()

    assert address("again", upload.pk) in shown(owner, upload)
    assert answer["Location"] == address("change", again.pk)
    assert (again.product, again.kind, again.bad_rows, again.file_name) == (product, "list", 0, "mended.csv")
    assert address("again", again.pk) not in shown(owner, again)


def test_without_a_file_nothing_is_uploaded_again(brand, owner, product):
    upload = uploaded(owner, brand, product, "B0001,,\n")

    answer = browser(owner).post(address("again", upload.pk), follow=True)

    assert "Choose the corrected file." in text(answer)
    assert Import.objects.count() == 1


@pytest.mark.parametrize(("role", "status"), [("support", 403), (None, 404)])
def test_who_may_not_upload_uploads_nothing_again(brand, owner, product, role, status):
    upload = uploaded(owner, brand, product, "B0001,,\n")
    other = staff(brand, role=role) if role else staff(factories.brand())
    file = SimpleUploadedFile("mended.csv", LIST.encode(), content_type="text/csv")

    assert browser(other).post(address("again", upload.pk), {"file": file}).status_code == status
    assert Import.objects.count() == 1


# --- Codes printed elsewhere

PRINTED = "auth_code,payload,inventory_location,notes\nK7F3,https://old.example/p/K7F3,,\nM2XW,,,\n"


def test_codes_printed_elsewhere_become_a_batch_as_the_form_says(brand, owner, product):
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

    assert send(owner, brand, PRINTED, **fields).status_code == 302
    run_jobs()
    upload = Import.objects.get()
    page = shown(owner, upload)
    browser(owner).post(address("commit", upload.pk))
    run_jobs()

    assert "https://old.example/p/K7F3" in page
    batch = BatchRange.objects.get(printed_elsewhere=True)
    stored = {name: getattr(batch, name) for name in fields if name not in {"product", "campaign", "expiration_date"}}
    assert stored == {name: fields[name] for name in stored}
    assert (batch.campaign, batch.product, batch.expiration_date.isoformat()) == (campaign, product, "2030-12-31")
    assert batch.codes.count() == 2


def problems(person, brand, **fields):
    return send(person, brand, PRINTED, **fields).context["adminform"].form.errors


def test_what_such_a_batch_cannot_be_is_told_at_its_field(brand, owner, product):
    factories.batch(brand, quantity=1, range_name="Taken")
    elsewhere = factories.campaign(factories.brand())
    given = {"product": product.pk}

    assert list(problems(owner, brand, **given)) == ["range_name"]
    assert list(problems(owner, brand, range_name="Taken", **given)) == ["range_name"]
    assert list(problems(owner, brand, range_name="New")) == ["product"]
    for name, value in [("scan_limit", 0), ("points_per_scan", -1), ("expiration_date", "2030-02-30")]:
        assert list(problems(owner, brand, range_name="New", **given, **{name: value})) == [name]
    assert list(problems(owner, brand, range_name="New", campaign=elsewhere.pk, **given)) == ["campaign"]
    assert not Import.objects.exists()


def test_a_printer_is_offered_no_points_limits_or_campaigns(brand, product):
    printer = staff(brand, role="printer")
    page = text(browser(printer).get(address("add")))

    assert 'name="range_name"' in page
    for name in ("points_per_scan", "scan_limit", "expiration_date", "campaign", "after_campaign"):
        assert f'name="{name}"' not in page
    sent = {"product": product.pk, "range_name": "Old labels", "points_per_scan": 9}
    assert send(printer, brand, PRINTED, **sent).status_code == 302
    run_jobs()
    browser(printer).post(address("commit", Import.objects.get().pk))
    run_jobs()
    assert BatchRange.objects.get(printed_elsewhere=True).points_per_scan is None
