"""Errors of imported files are in the uploader's language: on the page, in the error file and from a job."""

from typing import Any

import pytest
from django.urls import reverse

from brands.models.audit import AuditLogEntry
from brands.models.people import User
from brands.models.tenants import Brand
from jobs import runner
from jobs.models import Job
from loyalty.models.accounts import UserPoints
from portal.import_export import tables
from tests.support import factories
from tests.support.imports import confirm, line_errors, problem, ticket_of, ticket_of_upload, upload
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db(transaction=True)
PORTION = 2


@pytest.fixture(params=["page", "job"])
def checked_by_job(request: Any, settings: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a job checks the files because they are large."""
    settings.MEDIA_ROOT = tmp_path
    if request.param == "job":
        monkeypatch.setattr(tables, "MAX_ROWS", PORTION)
    return bool(request.param == "job")


@pytest.fixture
def german_user(brand: Brand) -> User:
    return staff(brand, email="greta@example.com", portal_language="de")


def run_jobs() -> None:
    for job in Job.objects.unfinished().order_by("pk"):
        runner.run(job.pk)


# For each list, the file and the expected errors by line.
CASES = {
    "authcodes.product": (
        "sku,title\nA,Tea\n,Cup\nB,Mug\nB,Jug\n",
        {
            3: "sku: Dieses Feld ist erforderlich.",
            4: "Die Zeilen 4, 5 gelten für denselben Eintrag.",
            5: "Die Zeilen 4, 5 gelten für denselben Eintrag.",
        },
    ),
    "loyalty.userpoints": (
        "email,opening_balance\nada@example.com,12\nbob,1\ncyd@example.com,x\neve@example.com,7\n",
        {
            3: "email: Geben Sie eine gültige E-Mail-Adresse ein.",
            4: "opening_balance: Geben Sie 0 oder mehr",
            5: "opening_balance: Dieses Mitglied hat aus dieser Quelle schon ein Anfangsguthaben von 5,00.",
        },
    ),
    "loyalty.poolcode": (
        "reward,code\nNothing,P-2\nVoucher,\nVoucher,P-1\nVoucher,P-1\n",
        {
            2: "reward: „Nothing“ gibt es bei dieser Marke nicht.",
            3: "code: Geben Sie 1 bis 200 Buchstaben",
            4: "code: Die Zeilen 4, 5 haben denselben Code.",
        },
    ),
}


def add_rows(brand: Brand) -> None:
    """Add the rows that the files of CASES refer to."""
    factories.reward(brand, name="Voucher", cost=10, uses_pool=True)
    owner = staff(brand, email="olivia@example.com", portal_language="en")
    header = "email,opening_balance\n"
    page = browser(owner).get(upload(owner, "loyalty.userpoints", brand, header + "eve@example.com,5\n")["Location"])
    confirm(owner, "loyalty.userpoints", ticket_of(page))


@pytest.mark.parametrize("label", CASES)
def test_row_errors_are_in_the_uploaders_language(
    brand: Brand, german_user: User, checked_by_job: bool, label: str
) -> None:
    add_rows(brand)
    content, expected = CASES[label]

    response = upload(german_user, label, brand, content)
    run_jobs()
    page = browser(german_user).get(response["Location"])
    errors = browser(german_user).get(address(label, "import_errors"), {"ticket": ticket_of_upload(response)})
    file = b"".join(errors.streaming_content).decode()  # type: ignore[attr-defined] # it streams

    messages = line_errors(page)
    for line, error in expected.items():
        assert messages[line].startswith(error)
        assert f"{line}: {error}" in file.replace('""', '"')
    if checked_by_job:
        job = Job.objects.latest("pk")
        assert (job.language, "Geprüft." in job.log) == ("de", True)
        assert "Fehler: " in text(browser(german_user).get(reverse("admin:jobs_job_change", args=[job.pk])))


@pytest.mark.usefixtures("checked_by_job")
def test_preview_can_be_confirmed_in_another_language(brand: Brand, german_user: User) -> None:
    """The effect of a file does not depend on the language; only its error messages do."""
    rows = "".join(f"m{number}@example.com,{number},no\n" for number in range(4))
    response = upload(german_user, "loyalty.userpoints", brand, "email,opening_balance,wants_notifications\n" + rows)
    run_jobs()
    ticket = ticket_of(browser(german_user).get(response["Location"]))
    User.objects.filter(pk=german_user.pk).update(portal_language="ar")

    confirmation = confirm(User.objects.get(pk=german_user.pk), "loyalty.userpoints", ticket)
    run_jobs()

    assert confirmation.status_code == 302, problem(confirmation)
    assert UserPoints.objects.filter(brand=brand, user__email__startswith="m").count() == 4
    entries = AuditLogEntry.objects.filter(brand=brand, kind="loyalty.userpoints")
    assert set(entries.values_list("action", "reason")) == {("Enrolled", "Import of file.csv")}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("sku,titel\nA,Tea\n", "Unbekannte Spalten: "),
        ("", "Die Datei ist leer."),
        ("sku,title\n", "Die Datei hat keine Zeilen unter der Kopfzeile."),
    ],
)
@pytest.mark.usefixtures("checked_by_job")
def test_rejected_file_is_explained_in_the_uploaders_language(
    brand: Brand, german_user: User, content: str, message: str
) -> None:
    assert message in problem(upload(german_user, "authcodes.product", brand, content))


def test_malformed_line_of_a_large_file_is_reported_with_its_number(
    brand: Brand, german_user: User, settings: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(tables, "MAX_ROWS", PORTION)

    response = upload(german_user, "authcodes.product", brand, "sku,title\nA,Tea\nB,Mug\nC,Jug\nD,Pot\nE,Cup\nF,x,y\n")
    run_jobs()

    page = browser(german_user).get(response["Location"])
    assert problem(page) == "Zeile 7 hat mehr Zellen, als die Kopfzeile Spalten hat."
