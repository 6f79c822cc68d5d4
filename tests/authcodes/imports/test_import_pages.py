"""The page of imports: what staff see of a file before it is committed, and which roles may commit it."""

from datetime import timedelta

import pytest
from django.utils import timezone

import authcodes.admin.imports  # noqa: F401 - the page under test
from authcodes.imports import checks, files
from authcodes.models.codes import AuthCode
from authcodes.models.imports import Import
from brands.identity import roles
from jobs.models import Job
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


def test_the_upload_page_explains_the_columns_and_offers_templates(brand, owner, product):
    page = text(browser(owner).get(import_url("add")))

    assert all(f"<code>{name}</code>" in page for names in checks.COLUMNS.values() for name in names)
    for kind in checks.COLUMNS:
        answer = browser(owner).get(import_url("template", kind))
        assert import_url("template", kind) in page
        assert b"".join(answer.streaming_content).decode() == "\ufeff" + files.template(kind)


def test_a_list_is_uploaded_checked_and_committed(brand, owner, product):
    upload = upload_and_check(owner, brand, product, "A0001,Shelf,\nA0002,,\n")
    page = page_text(owner, upload)
    browser(owner).post(import_url("commit", upload.pk))
    run_jobs()

    assert ("Shelf" in page, import_url("commit", upload.pk) in page, "skip_bad" in page) == (True, True, False)
    assert AuthCode.objects.filter(product=product).count() == 2
    assert "Committed" in page_text(owner, upload)


def test_page_refreshes_itself_while_the_job_runs(brand, owner, product):
    post_upload(owner, brand, f"{LIST}A0001,,\n", product=product.pk)

    page = page_text(owner, Import.objects.get())

    assert f'data-job="{Job.objects.get().pk}"' in page
    assert "portal/live" in page


def test_a_list_without_a_product_is_rejected(brand, owner, product):
    answer = post_upload(owner, brand, f"{LIST}A0001,,\n")

    assert answer.context["adminform"].form.errors == {"product": ["Choose the product that these codes are for."]}
    assert Import.objects.count() == 0


def test_bad_rows_are_listed_with_column_and_message_and_can_be_skipped(brand, owner, product):
    upload = upload_and_check(owner, brand, product, "A0001,,\nB0001,,\n")
    page = page_text(owner, upload)

    browser(owner).post(import_url("commit", upload.pk))
    status_with_errors = Import.objects.get().status
    browser(owner).post(import_url("commit", upload.pk), {"skip_bad": "1"})
    run_jobs()

    assert all(expected_text in page for expected_text in ("Code not found", "auth_code", 'name="skip_bad"'))
    assert status_with_errors == "checked"
    assert list(AuthCode.objects.filter(product=product).values_list("code", flat=True)) == ["A0001"]


def test_errors_are_paginated(brand, owner, product):
    upload = upload_and_check(owner, brand, product, "".join(f"B{number:04},,\n" for number in range(250)))

    first, last, invalid = (
        text(browser(owner).get(import_url("change", upload.pk) + f"?errors={n}")) for n in (1, 3, "x")
    )

    assert [f"Page {n} of 3" in page for n, page in ((1, first), (3, last), (1, invalid))] == [True] * 3
    assert "B0249" in last


@pytest.mark.parametrize("quantity", [1, 250])
def test_query_count_of_the_page_does_not_grow_with_the_rows(
    brand, owner, product, quantity, django_assert_max_num_queries
):
    upload = upload_and_check(owner, brand, product, "".join(f"B{number:04},,\n" for number in range(quantity)))
    client = browser(owner)

    with django_assert_max_num_queries(17):
        client.get(import_url("change", upload.pk))


def test_the_error_file_is_safe_to_open(brand, owner, product):
    upload = upload_and_check(owner, brand, product, "=1+1,@x,-y\n")

    answer = browser(owner).get(import_url("errors", upload.pk))

    assert b"".join(answer.streaming_content).decode("utf-8-sig").splitlines()[1] == (
        '"\'=1+1","\'@x","\'-y","Code not found"'
    )
    assert answer["Content-Disposition"] == 'attachment; filename="codes-errors.csv"'


def test_scripts_in_cells_are_escaped(brand, owner, product):
    script = "<script>alert(1)</script>"

    page = page_text(owner, upload_and_check(owner, brand, product, f"{script},{script},{script}\n"))
    rejected = post_upload(owner, brand, f"{script},inventory_location,notes\nA0001,,\n", product=product.pk)
    run_jobs()

    assert script not in page
    assert page.count("&lt;script&gt;") >= 3
    assert script not in text(browser(owner).get(rejected["Location"]))
    assert "&lt;script&gt;" in text(browser(owner).get(rejected["Location"]))


def test_an_import_is_undone_by_a_button(brand, owner, product):
    upload = upload_and_check(owner, brand, product, "A0001,,\n")
    browser(owner).post(import_url("commit", upload.pk))
    run_jobs()
    page = page_text(owner, upload)

    browser(owner).post(import_url("undo", upload.pk))
    assert "Being undone" in page_text(owner, upload)
    run_jobs()

    assert import_url("undo", upload.pk) in page
    assert AuthCode.objects.filter(product=product).count() == 0
    assert import_url("undo", upload.pk) not in page_text(owner, upload)


def test_an_import_is_discarded_by_a_button(brand, owner, product):
    upload = upload_and_check(owner, brand, product, "A0001,,\n")

    browser(owner).post(import_url("discard", upload.pk))

    assert Import.objects.get().status == "discarded"
    assert "Discarded" in page_text(owner, upload)


def test_pages_of_another_brands_import_answer_404(brand, owner, product):
    upload = upload_and_check(owner, brand, product, "A0001,SECRET,\n")
    other_browser = browser(staff(factories.brand()))

    answers = [other_browser.post(import_url(page, upload.pk)) for page in ("commit", "undo", "discard")]
    answers += [other_browser.get(import_url(page, upload.pk)) for page in ("change", "errors", "history")]

    assert [answer.status_code for answer in answers] == [404] * 6
    assert "codes.csv" not in text(other_browser.get(import_url("changelist")))
    assert Import.objects.get().status == "checked"


def test_another_brand_and_its_product_cannot_be_chosen(brand, owner, product):
    other_staff = staff(factories.brand())

    answer = post_upload(other_staff, brand, f"{LIST}A0001,,\n", product=product.pk)

    assert set(answer.context["adminform"].form.errors) == {"brand", "product"}
    assert Import.objects.count() == 0


@pytest.mark.parametrize(("role", "status"), [("manager", 302), ("printer", 403), ("support", 403)])
def test_a_colleagues_upload_is_committed_by_managers_and_owners_only(brand, owner, product, role, status):
    upload = upload_and_check(owner, brand, product, "A0001,,\n")
    colleague = staff(brand, role=role)

    page = page_text(colleague, upload)
    answer = browser(colleague).post(import_url("commit", upload.pk))

    assert (answer.status_code, import_url("commit", upload.pk) in page) == (status, status == 302)
    assert Import.objects.get().status == ("committing" if status == 302 else "checked")


def test_a_printer_commits_an_upload_of_their_own(brand, product):
    printer = staff(brand, role="printer")
    upload = upload_and_check(printer, brand, product, "A0001,,\n")

    browser(printer).post(import_url("commit", upload.pk))

    assert Import.objects.get().status == "committing"


def test_support_staff_cannot_upload(brand, product):
    assert post_upload(staff(brand, role="support"), brand, f"{LIST}A0001,,\n", product=product.pk).status_code == 403
    assert Import.objects.count() == 0


def test_actions_reject_get_requests(brand, owner, product):
    upload = upload_and_check(owner, brand, product, "A0001,,\n")

    answers = [browser(owner).get(import_url(action, upload.pk)) for action in ("commit", "undo", "discard")]

    assert [answer.status_code for answer in answers] == [405] * 3


@pytest.mark.parametrize(("hours_ago", "is_offered"), [(23, True), (25, False)])
def test_undo_is_offered_for_a_day(brand, owner, product, hours_ago, is_offered):
    upload = upload_and_check(owner, brand, product, "A0001,,\n")
    Import.objects.update(status="committed", committed_at=timezone.now() - timedelta(hours=hours_ago))

    assert (import_url("undo", upload.pk) in page_text(owner, upload)) == is_offered
