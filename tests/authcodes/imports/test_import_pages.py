"""The page of imports: what staff see of a file before it counts, and who may make it count."""

from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import timezone

import authcodes.admin.imports  # noqa: F401 - the page under test
from authcodes.imports import checks, files
from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.models.imports import Import
from brands.identity import roles
from jobs import runner
from jobs.models import Job
from tests.support import factories
from tests.support.portal import browser, staff, text

LIST = "auth_code,inventory_location,notes\n"


@pytest.fixture(autouse=True)
def portal(settings, tmp_path, monkeypatch):
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setitem(roles.TABLE, "authcodes.import", {**roles.TABLE["authcodes.import"], "support": "v"})


@pytest.fixture
def product(brand):
    factories.batch(brand, assigned=False, quantity=20, prefix="A")
    return factories.product(brand, sku="SKU-A")


def address(what, *args):
    return reverse(f"admin:authcodes_import_{what}", args=args)


def send(person, brand, content, **fields):
    file = SimpleUploadedFile("codes.csv", content.encode(), content_type="text/csv")
    return browser(person).post(address("add"), {"brand": brand.pk, "file": file, **fields})


def uploaded(person, brand, product, content):
    """An import that was sent through the page, and whose check has run."""
    answer = send(person, brand, LIST + content, product=product.pk)
    upload = Import.objects.latest("pk")
    assert (answer.status_code, answer["Location"]) == (302, address("change", upload.pk))
    run_jobs()
    upload.refresh_from_db()
    return upload


def run_jobs():
    for job in Job.objects.unfinished():
        runner.run(job.pk)


def shown(person, upload):
    return text(browser(person).get(address("change", upload.pk)))


def test_the_upload_page_explains_the_columns_and_offers_templates(brand, owner, product):
    page = text(browser(owner).get(address("add")))

    assert all(f"<code>{name}</code>" in page for names in checks.COLUMNS.values() for name in names)
    for kind in checks.COLUMNS:
        answer = browser(owner).get(address("template", kind))
        assert address("template", kind) in page
        assert b"".join(answer.streaming_content).decode() == "\ufeff" + files.template(kind)


def test_a_list_is_uploaded_looked_at_and_committed(brand, owner, product):
    upload = uploaded(owner, brand, product, "A0001,Shelf,\nA0002,,\n")
    page = shown(owner, upload)
    browser(owner).post(address("commit", upload.pk))
    run_jobs()

    assert ("Shelf" in page, address("commit", upload.pk) in page, "skip_bad" in page) == (True, True, False)
    assert AuthCode.objects.filter(product=product).count() == 2
    assert "Committed" in shown(owner, upload)


def test_a_page_whose_job_runs_keeps_itself_current(brand, owner, product):
    send(owner, brand, f"{LIST}A0001,,\n", product=product.pk)

    page = shown(owner, Import.objects.get())

    assert f'data-job="{Job.objects.get().pk}"' in page
    assert "portal/live" in page


def test_a_list_without_a_product_is_sent_back(brand, owner, product):
    answer = send(owner, brand, f"{LIST}A0001,,\n")

    assert answer.context["adminform"].form.errors == {"product": ["Choose the product that these codes are for."]}
    assert Import.objects.count() == 0


def test_errors_are_shown_with_line_column_and_words_and_can_be_skipped(brand, owner, product):
    upload = uploaded(owner, brand, product, "A0001,,\nB0001,,\n")
    page = shown(owner, upload)

    browser(owner).post(address("commit", upload.pk))
    refused = Import.objects.get().status
    browser(owner).post(address("commit", upload.pk), {"skip_bad": "1"})
    run_jobs()

    assert all(words in page for words in ("Code not found", "auth_code", 'name="skip_bad"'))
    assert refused == "checked"
    assert list(AuthCode.objects.filter(product=product).values_list("code", flat=True)) == ["A0001"]


def test_errors_come_in_pages(brand, owner, product):
    upload = uploaded(owner, brand, product, "".join(f"B{number:04},,\n" for number in range(250)))

    first, last, odd = (text(browser(owner).get(address("change", upload.pk) + f"?errors={n}")) for n in (1, 3, "x"))

    assert [f"Page {n} of 3" in page for n, page in ((1, first), (3, last), (1, odd))] == [True] * 3
    assert "B0249" in last


@pytest.mark.parametrize("quantity", [1, 250])
def test_a_page_costs_as_many_queries_for_any_number_of_rows(
    brand, owner, product, quantity, django_assert_max_num_queries
):
    upload = uploaded(owner, brand, product, "".join(f"B{number:04},,\n" for number in range(quantity)))
    client = browser(owner)

    with django_assert_max_num_queries(17):
        client.get(address("change", upload.pk))


def test_the_error_file_is_safe_to_open(brand, owner, product):
    upload = uploaded(owner, brand, product, "=1+1,@x,-y\n")

    answer = browser(owner).get(address("errors", upload.pk))

    assert b"".join(answer.streaming_content).decode("utf-8-sig").splitlines()[1] == (
        '"\'=1+1","\'@x","\'-y","Code not found"'
    )
    assert answer["Content-Disposition"] == 'attachment; filename="codes-errors.csv"'


def test_scripts_in_every_cell_are_shown_as_text(brand, owner, product):
    script = "<script>alert(1)</script>"

    page = shown(owner, uploaded(owner, brand, product, f"{script},{script},{script}\n"))
    refused = send(owner, brand, f"{script},inventory_location,notes\nA0001,,\n", product=product.pk)
    run_jobs()

    assert script not in page
    assert page.count("&lt;script&gt;") >= 3
    assert script not in text(browser(owner).get(refused["Location"]))
    assert "&lt;script&gt;" in text(browser(owner).get(refused["Location"]))


def test_an_import_is_undone_by_a_button(brand, owner, product):
    upload = uploaded(owner, brand, product, "A0001,,\n")
    browser(owner).post(address("commit", upload.pk))
    run_jobs()
    page = shown(owner, upload)

    browser(owner).post(address("undo", upload.pk))
    assert "Being undone" in shown(owner, upload)
    run_jobs()

    assert address("undo", upload.pk) in page
    assert AuthCode.objects.filter(product=product).count() == 0
    assert address("undo", upload.pk) not in shown(owner, upload)


def test_an_import_is_discarded_by_a_button(brand, owner, product):
    upload = uploaded(owner, brand, product, "A0001,,\n")

    browser(owner).post(address("discard", upload.pk))

    assert Import.objects.get().status == "discarded"
    assert "Discarded" in shown(owner, upload)


def test_another_brands_import_does_not_exist(brand, owner, product):
    upload = uploaded(owner, brand, product, "A0001,SECRET,\n")
    stranger = browser(staff(factories.brand()))

    answers = [stranger.post(address(what, upload.pk)) for what in ("commit", "undo", "discard")]
    answers += [stranger.get(address(what, upload.pk)) for what in ("change", "errors", "history")]

    assert [answer.status_code for answer in answers] == [404] * 6
    assert "codes.csv" not in text(stranger.get(address("changelist")))
    assert Import.objects.get().status == "checked"


def test_another_brands_brand_and_product_are_no_choice(brand, owner, product):
    stranger = staff(factories.brand())

    answer = send(stranger, brand, f"{LIST}A0001,,\n", product=product.pk)

    assert set(answer.context["adminform"].form.errors) == {"brand", "product"}
    assert Import.objects.count() == 0


@pytest.mark.parametrize(("role", "status"), [("manager", 302), ("printer", 403), ("support", 403)])
def test_somebody_elses_upload_is_committed_by_managers_and_owners_only(brand, owner, product, role, status):
    upload = uploaded(owner, brand, product, "A0001,,\n")
    colleague = staff(brand, role=role)

    page = shown(colleague, upload)
    answer = browser(colleague).post(address("commit", upload.pk))

    assert (answer.status_code, address("commit", upload.pk) in page) == (status, status == 302)
    assert Import.objects.get().status == ("committing" if status == 302 else "checked")


def test_a_printer_commits_an_upload_of_their_own(brand, product):
    printer = staff(brand, role="printer")
    upload = uploaded(printer, brand, product, "A0001,,\n")

    browser(printer).post(address("commit", upload.pk))

    assert Import.objects.get().status == "committing"


def test_support_uploads_nothing(brand, product):
    assert send(staff(brand, role="support"), brand, f"{LIST}A0001,,\n", product=product.pk).status_code == 403
    assert Import.objects.count() == 0


def test_looking_at_a_button_presses_nothing(brand, owner, product):
    upload = uploaded(owner, brand, product, "A0001,,\n")

    answers = [browser(owner).get(address(what, upload.pk)) for what in ("commit", "undo", "discard")]

    assert [answer.status_code for answer in answers] == [405] * 3


def test_undo_a_day_later_is_not_offered(brand, owner, product):
    upload = uploaded(owner, brand, product, "A0001,,\n")
    Import.objects.update(status="committed", committed_at=timezone.now() - timedelta(hours=25))

    assert address("undo", upload.pk) not in shown(owner, upload)


# --- What the header says, and mending a file ---------------------------------------------------------------------


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
    told = {name: getattr(batch, name) for name in fields if name not in {"product", "campaign", "expiration_date"}}
    assert told == {name: fields[name] for name in told}
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
