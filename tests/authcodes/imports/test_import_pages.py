"""The page of imports: what staff see of a file before it counts, and who may make it count."""

from datetime import timedelta

import pytest
from django.utils import timezone

import authcodes.admin.imports  # noqa: F401 - the page under test
from authcodes.imports import checks, files
from authcodes.models.codes import AuthCode
from authcodes.models.imports import Import
from brands.identity import roles
from jobs.models import Job
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

    assert all(expected_text in page for expected_text in ("Code not found", "auth_code", 'name="skip_bad"'))
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
