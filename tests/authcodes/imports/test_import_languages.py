"""Errors of a file are in the reader's language; those of its job are in the language of the user who started it."""

from html import unescape
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from django.utils import translation

import authcodes.admin.imports  # noqa: F401 - the pages under test
from authcodes.imports import checks, pasted_codes
from authcodes.imports.checks import OUR_ERRORS
from authcodes.models.codes import AuthCode
from authcodes.models.imports import Import, ImportRow
from authcodes.models.products import Product
from brands.models.audit import AuditLogEntry
from brands.models.people import User
from brands.models.tenants import Brand
from jobs import runner
from jobs.models import Job
from tests.support import factories
from tests.support.portal import browser, staff, text

LIST = "auth_code,inventory_location,notes\n"
RANGES = "product_sku,auth_code_start,auth_code_end,location,points_per_scan\n"
PRINTED = "auth_code,payload,inventory_location,notes\n"


@pytest.fixture(autouse=True)
def media(settings: Any, tmp_path: Any) -> None:
    settings.MEDIA_ROOT = tmp_path


@pytest.fixture
def german_user(brand: Brand) -> User:
    return staff(brand, email="greta@example.com", portal_language="de")


@pytest.fixture
def arabic_user(brand: Brand) -> User:
    return staff(brand, email="amal@example.com", portal_language="ar")


@pytest.fixture
def product(brand: Brand) -> Product:
    factories.batch(brand, assigned=False, quantity=20, prefix="A")
    return factories.product(brand, sku="SKU-A")


def import_url(page: str, *args: Any) -> str:
    return reverse(f"admin:authcodes_import_{page}", args=args)


def upload_and_check(user: User, brand: Brand, content: str, **fields: Any) -> Import:
    file = SimpleUploadedFile("codes.csv", content.encode(), content_type="text/csv")
    answer = browser(user).post(import_url("add"), {"brand": brand.pk, "file": file, **fields})
    assert answer.status_code == 302, text(answer)
    run_jobs()
    return Import.objects.latest("pk")


def run_jobs() -> None:
    for job in Job.objects.unfinished().order_by("pk"):
        runner.run(job.pk)


def page_text(user: User, upload: Import) -> str:
    return unescape(text(browser(user).get(import_url("change", upload.pk))))


def error_file(user: User, upload: Import) -> str:
    answer = browser(user).get(import_url("errors", upload.pk))
    return b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined] # it streams


GERMAN = {
    "list": [
        "Dieser Code steht schon in Zeile 2.",
        "Code nicht gefunden",
        "Der Code fehlt.",
        "Ein Ort hat höchstens 120 Zeichen.",
        "Ungültiges CSV-Format: Diese Zeile hat 2 Zellen statt 3.",
        "Codebereich bereits zugeordnet",
    ],
    "ranges": [
        "Produkt-SKU nicht gefunden",
        "Dieser Bereich überschneidet sich mit dem in Zeile 2.",
        "Anfang und Ende müssen gleich lang sein.",
        "Die Punkte müssen eine ganze Zahl von 0 bis 2.147.483.647 sein.",
        "Höchstens 100 Punkte pro Scan.",
    ],
    "printed": [
        "Dieser Code oder sein Inhalt kann nicht verwendet werden.",
        "Dieser Inhalt steht schon in Zeile 2 oder nennt den Code jener Zeile.",
        "Ein Code hat höchstens 64 Buchstaben",
    ],
}


def faulty_import(kind: str, brand: Brand, product: Product, by: User) -> Import:
    """An import of this kind that has each error of GERMAN."""
    factories.batch(brand, assigned=False, prefix="C", number_width=5)
    AuthCode.objects.filter(brand=brand, code="A0019").update(product=factories.product(brand, sku="OTHER"))
    factories.batch(factories.brand(), prefix="Z", assigned=False)
    brand.max_points_per_scan = 100
    brand.save()
    if kind == "list":
        rows = ["A0001,,", "A0001,,", "B0001,,", ",,x", f"A0002,{'x' * 121},", "A0003,", "A0019,,"]
        return upload_and_check(by, brand, LIST + "\n".join(rows), product=product.pk)
    if kind == "ranges":
        rows = ["A0001,A0005,,", "A0004,A0006,,", "A0010,C00001,,", "A0011,A0011,,x", "A0012,A0012,,101"]
        return upload_and_check(
            by, brand, RANGES + "\n".join(["SKU-A," + row for row in rows] + ["SKU-B,A0001,A0002,,"])
        )
    rows = ["K1,https://old.example/1,,", "K2,https://old.example/1,,", "Z0001,,,", f"{'x' * 65},,,"]
    return upload_and_check(by, brand, PRINTED + "\n".join(rows), product=product.pk, range_name="Old labels")


@pytest.mark.parametrize("kind", GERMAN)
def test_errors_are_displayed_in_the_language_of_the_reader(
    brand: Brand, german_user: User, arabic_user: User, product: Product, kind: str
) -> None:
    upload = faulty_import(kind, brand, product, arabic_user)
    english_user = staff(brand, portal_language="en")

    page, file = page_text(german_user, upload), error_file(german_user, upload)

    assert (upload.status, upload.bad_rows > 1) == ("checked", True)
    for error in GERMAN[kind]:
        assert error in page
        assert error in file
    assert file.splitlines()[0].endswith('"error"')
    with translation.override("ar"):
        arabic = [row.problem for row in upload.lines.exclude(error="")]
    assert all(each in page_text(arabic_user, upload) for each in arabic)
    assert not any(each in page_text(english_user, upload) for each in [*GERMAN[kind], *arabic])
    assert all(row.problem in page_text(english_user, upload) for row in upload.lines.exclude(error=""))
    assert all(row.error.isascii() for row in upload.lines.all())


def test_corrected_german_error_file_is_accepted_unchanged(brand: Brand, german_user: User, product: Product) -> None:
    upload = upload_and_check(german_user, brand, LIST + "A0001,,\nB0001,,\n", product=product.pk)

    corrected = upload_and_check(
        german_user, brand, error_file(german_user, upload).replace("B0001", "A0002"), product=product.pk
    )

    assert (corrected.status, corrected.rows, corrected.bad_rows) == ("checked", 2, 0)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("auth_code,notes\nA0001,\n", "Ungültiges CSV-Format: fehlt: inventory_location."),
        (LIST, "Ungültiges CSV-Format: die Datei hat keine Zeilen unter der Kopfzeile."),
        (LIST + 'A0001,"x,\n', "Ungültiges CSV-Format: in der Zeile, die in Zeile 2 der Datei beginnt"),
    ],
)
def test_rejected_file_gives_the_reason_in_the_language_of_its_uploader(
    brand: Brand, german_user: User, product: Product, content: str, problem: str
) -> None:
    upload = upload_and_check(german_user, brand, content, product=product.pk)

    job = Job.objects.latest("pk")
    assert upload.status == "refused"
    assert upload.problem.startswith(problem)
    assert problem in page_text(german_user, upload)
    assert (job.status, job.language) == ("failed", "de")
    assert problem in text(browser(german_user).get(reverse("admin:jobs_job_change", args=[job.pk])))


def test_failed_commit_gives_the_reason_in_the_language_of_its_committer(
    brand: Brand, german_user: User, arabic_user: User, product: Product
) -> None:
    """The commit also recognises the errors that the check stored for a user of another language."""
    upload = upload_and_check(arabic_user, brand, LIST + "A0001,,\nA0002,,\n", product=product.pk)
    AuthCode.objects.filter(brand=brand, code="A0002").update(product=factories.product(brand, sku="OTHER"))

    browser(german_user).post(import_url("commit", upload.pk))
    run_jobs()

    reason = "Es wurde nichts importiert: 1 Code wurde inzwischen einem anderen Produkt zugeordnet."
    assert reason in Job.objects.latest("pk").log
    page = page_text(german_user, upload)
    assert reason in page
    assert "Codebereich bereits zugeordnet" in page
    assert "OTHER" in page  # the hint next to the error
    assert not AuditLogEntry.objects.exclude(action__regex=r"^[ -~]*$").exists()


def test_unusable_codes_are_counted_whatever_the_language_of_their_errors(
    brand: Brand, german_user: User, arabic_user: User, product: Product, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit that protects other brands' codes does not depend on the language of the user who checks or commits."""
    factories.batch(factories.brand(), prefix="Z", assigned=False)
    upload = upload_and_check(
        arabic_user, brand, PRINTED + "K1,,,\nK2,,,\nK0,,,\nZ0001,,,\n", product=product.pk, range_name="Old labels"
    )
    assert (upload.status, upload.bad_rows) == ("checked", 1)
    monkeypatch.setattr("authcodes.imports.printed_elsewhere.MAX_NOT_USABLE", 2)
    factories.batch(factories.brand(), prefix="K", number_width=1, assigned=False, quantity=2)

    browser(german_user).post(import_url("commit", upload.pk), {"skip_bad": "1"})
    run_jobs()
    upload.refresh_from_db()

    assert upload.status == "refused"


@pytest.mark.django_db
def test_errors_of_pasted_codes_are_in_the_language_of_the_reader(brand: Brand, product: Product) -> None:
    with translation.override("de"):
        lines = pasted_codes.parse_pasted(text="A0001\nA0001\nB1", product=product)

    assert [line.error for line in lines] == ["", "Dieser Code steht schon in Zeile 1.", "Code nicht gefunden"]
    assert not ImportRow.objects.exists()


@pytest.mark.parametrize("language", ["de", "ar"])
def test_every_error_of_a_row_is_translated(language: str) -> None:
    errors = [*OUR_ERRORS.values(), checks.CELLS, checks.NO_SKU, checks.NO_CELL, checks.ALREADY_ASSIGNED]

    with translation.override(language):
        assert [each for each in errors if translation.gettext(each) == each] == []
