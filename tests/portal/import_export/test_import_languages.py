"""Errors in files of reference data, in the language of who uploads them: on the page, in the file, and from a job."""

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
from tests.support.imports import confirm, faults, problem, ticket_of, ticket_of_upload, upload
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db(transaction=True)
PORTION = 2


@pytest.fixture(params=["page", "job"])
def large(request: Any, settings: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether files are so large that a job checks them."""
    settings.MEDIA_ROOT = tmp_path
    if request.param == "job":
        monkeypatch.setattr(tables, "MAX_ROWS", PORTION)
    return bool(request.param == "job")


@pytest.fixture
def german(brand: Brand) -> User:
    return staff(brand, email="greta@example.com", portal_language="de")


def run_jobs() -> None:
    for job in Job.objects.unfinished().order_by("pk"):
        runner.run(job.pk)


# By the list: the file, and what is wrong by line.
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


def with_rows(brand: Brand) -> None:
    """What the files of CASES are about."""
    factories.reward(brand, name="Voucher", cost=10, uses_pool=True)
    owner = staff(brand, email="olivia@example.com", portal_language="en")
    header = "email,opening_balance\n"
    page = browser(owner).get(upload(owner, "loyalty.userpoints", brand, header + "eve@example.com,5\n")["Location"])
    confirm(owner, "loyalty.userpoints", ticket_of(page))


@pytest.mark.parametrize("label", CASES)
def test_errors_of_rows_are_in_the_language_of_who_uploads(brand: Brand, german: User, large: bool, label: str) -> None:
    with_rows(brand)
    content, expected = CASES[label]

    answer = upload(german, label, brand, content)
    run_jobs()
    page = browser(german).get(answer["Location"])
    errors = browser(german).get(address(label, "import_errors"), {"ticket": ticket_of_upload(answer)})
    file = b"".join(errors.streaming_content).decode()  # type: ignore[attr-defined] # it streams

    found = faults(page)
    for line, error in expected.items():
        assert found[line].startswith(error)
        assert f"{line}: {error}" in file.replace('""', '"')
    if large:
        job = Job.objects.latest("pk")
        assert (job.language, "Geprüft." in job.log) == ("de", True)
        assert "Fehler: " in text(browser(german).get(reverse("admin:jobs_job_change", args=[job.pk])))


@pytest.mark.usefixtures("large")
def test_a_preview_in_one_language_is_confirmed_in_another(brand: Brand, german: User) -> None:
    """What a file does is the same; only its errors are said in other words."""
    rows = "".join(f"m{number}@example.com,{number},no\n" for number in range(4))
    answer = upload(german, "loyalty.userpoints", brand, "email,opening_balance,wants_notifications\n" + rows)
    run_jobs()
    ticket = ticket_of(browser(german).get(answer["Location"]))
    User.objects.filter(pk=german.pk).update(portal_language="ar")

    confirmed = confirm(User.objects.get(pk=german.pk), "loyalty.userpoints", ticket)
    run_jobs()

    assert confirmed.status_code == 302, problem(confirmed)
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
@pytest.mark.usefixtures("large")
def test_a_rejected_file_says_why_in_the_language_of_who_uploads(
    brand: Brand, german: User, content: str, message: str
) -> None:
    assert message in problem(upload(german, "authcodes.product", brand, content))


def test_a_large_file_that_breaks_off_says_where(
    brand: Brand, german: User, settings: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MEDIA_ROOT = tmp_path
    monkeypatch.setattr(tables, "MAX_ROWS", PORTION)

    answer = upload(german, "authcodes.product", brand, "sku,title\nA,Tea\nB,Mug\nC,Jug\nD,Pot\nE,Cup\nF,x,y\n")
    run_jobs()

    page = browser(german).get(answer["Location"])
    assert problem(page) == "Zeile 7 hat mehr Zellen, als die Kopfzeile Spalten hat."
