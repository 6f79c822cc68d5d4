"""The portal's language is its reader's own: kept with the account, and nobody else's is changed by it."""

import re
from datetime import date
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation

from brands.models.audit import AuditLogEntry
from brands.models.people import User
from brands.models.tenants import Brand
from core import languages
from core.spreadsheets.report import Format
from jobs.models import Job
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.rewards import Reward
from loyalty.points import ledger
from portal.import_export import downloads, registry
from tests.support import factories
from tests.support.factories import PASSWORD
from tests.support.portal import address, brand_with_one_of_each, browser, form_of, staff, text

HOME = "/admin/"
LOGIN = "/admin/login/"
HTML = re.compile(r'<html lang="([^"]*)" dir="([^"]*)"')
DIRECTIONS = {"en": "ltr", "de": "ltr", "ar": "rtl"}


@pytest.fixture
def person(brand: Brand) -> User:
    return staff(brand, email="olivia@example.com", password=PASSWORD)


@pytest.fixture
def client(person: User) -> Client:
    return browser(person)


def spoken(response: Any) -> tuple[str, str]:
    """Language and direction of a page."""
    found = HTML.search(text(response))
    assert found
    return found[1], found[2]


def choose(client: Client, language: str, *, coming_from: str = HOME) -> Any:
    return client.post(reverse("admin:choose_language"), {"language": language, "next": coming_from})


@pytest.mark.parametrize(
    ("header", "language"),
    [("de-AT,en;q=0.5", "de"), ("ar", "ar"), ("fr,de;q=0.4", "de"), ("en,de;q=0.9", "en"), ("fr", "en"), ("", "en")],
)
def test_without_a_choice_the_browser_names_the_language(client: Client, header: str, language: str) -> None:
    response = client.get(HOME, headers={"accept-language": header})

    assert spoken(response) == (language, DIRECTIONS[language])
    assert response.headers["Content-Language"] == language
    assert {"Accept-Language", "Cookie"} <= set(response.headers["Vary"].split(", "))


def test_the_choice_counts_before_the_browser_and_at_every_machine(client: Client, person: User) -> None:
    choose(client, "ar")

    elsewhere = browser(person)
    for each in (client, elsewhere):
        assert spoken(each.get(HOME, headers={"accept-language": "de"})) == ("ar", "rtl")
    assert "المنتجات والرموز" in text(elsewhere.get(HOME))


def test_english_can_be_chosen_against_the_browser(client: Client) -> None:
    choose(client, "en")

    assert spoken(client.get(HOME, headers={"accept-language": "de"})) == ("en", "ltr")


def test_one_persons_choice_is_nobody_elses(client: Client, brand: Brand) -> None:
    choose(client, "de")

    assert spoken(browser(staff(brand)).get(HOME))[0] == "en"


def test_before_the_login_a_cookie_keeps_the_choice(db: None) -> None:
    client = Client()

    assert spoken(client.get(LOGIN)) == ("en", "ltr")
    response = choose(client, "de", coming_from="/admin/login/?next=/admin/jobs/job/")

    assert response.url == "/admin/login/?next=/admin/jobs/job/"
    assert spoken(client.get(LOGIN, headers={"accept-language": "ar"})) == ("de", "ltr")
    assert "Anmelden" in text(client.get(LOGIN))
    cookie = client.cookies[languages.PORTAL_COOKIE]
    assert (cookie["path"], cookie["samesite"], bool(cookie["httponly"])) == (HOME, "Lax", True)


def test_who_logs_in_reads_their_own_language_and_finds_it_before_the_next_login(person: User) -> None:
    User.objects.filter(pk=person.pk).update(portal_language="ar")
    client = Client()

    client.post(LOGIN, {"username": "olivia@example.com", "password": PASSWORD})
    assert spoken(client.get(HOME)) == ("ar", "rtl")
    client.post(reverse("admin:logout"))

    assert spoken(client.get(LOGIN)) == ("ar", "rtl")


@pytest.mark.parametrize("language", ["", "fr", "de\x00", "x" * 5000, "../de"])
def test_another_text_changes_nothing(client: Client, person: User, language: str) -> None:
    choose(client, "de")

    assert choose(client, language).status_code == 302

    person.refresh_from_db()
    assert person.portal_language == "de"
    assert client.cookies[languages.PORTAL_COOKIE].value == "de"


@pytest.mark.parametrize("where", ["https://evil.example/", "//evil.example/admin/", "/s/", "javascript:alert(1)", ""])
def test_a_choice_leads_nowhere_but_into_the_portal(client: Client, where: str) -> None:
    assert choose(client, "de", coming_from=where).url == HOME


def test_looking_at_an_address_chooses_nothing(client: Client) -> None:
    assert client.get(reverse("admin:choose_language")).status_code == 405


def test_a_form_of_another_site_chooses_nothing(person: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(person)

    assert choose(client, "de").status_code == 403

    person.refresh_from_db()
    assert person.portal_language == ""


def test_a_session_of_an_identity_provider_does_not_speak_for_the_account(
    client: Client, person: User, brand: Brand
) -> None:
    session = client.session
    session["staff"] = {"brand": brand.pk}
    session.save()

    choose(client, "de")

    person.refresh_from_db()
    assert person.portal_language == ""
    assert spoken(client.get(HOME))[0] == "de"


def test_a_customer_who_chooses_gets_a_cookie_and_nothing_else(brand: Brand) -> None:
    customer = factories.customer(brand)

    choose(browser(customer), "de")

    customer.refresh_from_db()
    assert customer.portal_language == ""


def test_each_page_offers_the_languages_by_their_own_names(client: Client) -> None:
    choose(client, "de")

    for page in (text(client.get(HOME)), text(client.get(reverse("admin:own_account"))), text(Client().get(LOGIN))):
        offered = re.findall(r'<option value="(\w+)" lang="\w+"( selected)?>([^<]+)</option>', page)
        assert [(code, name) for code, _selected, name in offered][:3] == [
            ("en", "English"),
            ("de", "Deutsch"),
            ("ar", "العربية"),
        ]
        assert 'action="/admin/language/"' in page


def test_errors_are_in_the_readers_language(client: Client) -> None:
    choose(client, "ar")

    response = client.get("/admin/authcodes/product/999999999999/change/")

    assert response.status_code == 404
    assert spoken(response) == ("ar", "rtl")
    assert "Page not found" not in text(response)


def test_the_next_request_is_not_in_the_language_of_the_last(client: Client, api: Any) -> None:
    choose(client, "de")
    client.get(HOME)

    assert translation.get_language() == "en"
    answer = api.hub().having(accept_language="de").get("brand/products/999999")
    assert answer.json()["message"] == "Not found."


# --- What is stored, and what others read ---


def test_the_audit_log_is_english_whoever_acts(client: Client, brand: Brand) -> None:
    choose(client, "de")
    account = factories.account(factories.customer(brand), brand)
    where = address("authcodes.product", "add")

    client.post(where, {**form_of(client.get(where)), "sku": "mug", "title": "Mug", "price_currency": "EUR"})
    client.post(address("loyalty.userpoints"), {"action": "block", "reason": "Ja", "_selected_action": [account.pk]})

    actions = dict(AuditLogEntry.objects.values_list("kind", "action"))
    assert actions == {"authcodes.product": "Added", "loyalty.userpoints": "Blocked"}
    page = text(client.get(address("brands.auditlogentry")))
    assert "Hinzugefügt" in page
    assert ">Added<" not in page


def test_names_and_labels_in_the_audit_log_are_english(client: Client, brand: Brand) -> None:
    choose(client, "ar")
    role = staff(brand, role="support").staff_roles.get()
    where = address("brands.staffrole", "change", role.pk)

    client.post(where, {**form_of(client.get(where)), "role": "manager"})

    entry = AuditLogEntry.objects.filter(kind="brands.staffrole").latest("pk")
    assert entry.row_name == f"{role.user}, Manager of {brand}"


def test_a_job_is_called_in_english_and_its_columns_too(client: Client, brand: Brand) -> None:
    choose(client, "de")
    where = "/admin/authcodes/authcode/export/"

    client.post(where, {"brand": brand.pk, "format": "csv"})

    job = Job.objects.latest("pk")
    assert job.title == "Export codes"


def test_ledger_notes_are_english_in_whatever_language_points_move(client: Client, brand: Brand) -> None:
    choose(client, "de")
    account = factories.account(factories.customer(brand), brand)
    with translation.override("de"):
        assert ledger.settlement_note() == "Settled: points owed for returned orders"
    LoyaltyTransaction.objects.create(
        user_point=account, points_earned=1, reason="earned", reason_id="login:1", note="Points for logging in"
    )

    assert "Points for logging in" not in text(client.get(address("loyalty.loyaltytransaction")))


def test_a_file_of_rows_has_the_same_columns_and_name_in_every_language(brand: Brand) -> None:
    reward = factories.reward(brand, name="Mug")
    rows = Reward.objects.filter(pk=reward.pk)
    resource = registry.of_label("loyalty.reward")
    english = downloads.export(resource, rows, brand=brand, format=Format.CSV)

    with translation.override("ar"):
        arabic = downloads.export(resource, rows, brand=brand, format=Format.CSV)

    assert arabic.content == english.content
    assert arabic.headers["Content-Disposition"] == english.headers["Content-Disposition"]


def test_a_sign_in_is_listed_in_english_and_shown_in_the_readers_language(person: User) -> None:
    User.objects.filter(pk=person.pk).update(portal_language="de")
    client = Client(headers={"accept-language": "de"})

    client.post(LOGIN, {"username": "olivia@example.com", "password": PASSWORD})

    assert AuditLogEntry.objects.latest("pk").action == "Logged in to the portal"
    assert "Unknown browser" not in text(client.get(reverse("admin:own_account")))


# --- Numbers and days ---


@pytest.mark.parametrize(
    ("language", "number", "day"),
    [("en", "25,800", "22 Nov 2027"), ("de", "25.800", "22.11.2027"), ("ar", "25,800", "22 نوفمبر 2027")],
)
def test_numbers_and_days_are_written_as_the_language_does(
    client: Client, brand: Brand, language: str, number: str, day: str
) -> None:
    choose(client, language)
    factories.batch(brand, expiration_date=date(2027, 11, 22), quantity=1)
    account = factories.account(factories.customer(brand), brand)
    LoyaltyTransaction.objects.create(
        user_point=account, points_earned=25_800, reason="earned", reason_id="o:1", created_at=timezone.now()
    )

    assert day in text(client.get(address("authcodes.batchrange")))
    assert number in text(client.get(address("loyalty.loyaltytransaction")))


@pytest.mark.parametrize("language", ["de", "ar"])
def test_forms_send_back_what_they_showed(client: Client, brand: Brand, language: str) -> None:
    """Days and decimals in fields are as browsers and forms write them, so that nothing changes by saving."""
    level = factories.level(brand, "Gold", threshold=50, value="2.5")
    choose(client, language)

    where = address("loyalty.brandlevel", "change", level.pk)
    response = client.post(where, form_of(client.get(where)))

    assert response.status_code == 302, response.context["adminform"].form.errors
    assert list(AuditLogEntry.objects.values_list("kind", "changes")) == []


def test_no_cache_shows_one_persons_language_to_another(brand: Brand) -> None:
    brand, _rows = brand_with_one_of_each("northwind")
    english, german = browser(staff(brand)), browser(staff(brand))
    pages = [HOME, address("authcodes.batchrange"), address("jobs.job"), address("loyalty.webhookendpoint")]
    choose(german, "de")
    translated = [visible(text(german.get(page))) for page in pages]

    original = [visible(text(english.get(page))) for page in pages]

    assert [visible(text(german.get(page))) for page in pages] == translated
    for labels in (
        ("Start", "Produkte und Codes", "Einstellungen"),
        ("Home", "Products & codes", "Settings"),
    ):
        texts = translated if labels[0] == "Start" else original
        others = original if labels[0] == "Start" else translated
        for word in labels:
            assert all(word in page for page in texts)
            assert not any(word in page for page in others)


def visible(page: str) -> set[str]:
    """The texts between a page's tags."""
    found = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.S)
    return {each.replace("&amp;", "&").strip() for each in re.findall(r">([^<>]+)<", found)} - {""}
