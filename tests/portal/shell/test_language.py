"""The portal's language: chosen by each user, saved with the account, and without effect on other users."""

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
from jobs import runner
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
def user(brand: Brand) -> User:
    return staff(brand, email="olivia@example.com", password=PASSWORD)


@pytest.fixture
def client(user: User) -> Client:
    return browser(user)


def language_and_direction(response: Any) -> tuple[str, str]:
    """Language and direction of a page."""
    match = HTML.search(text(response))
    assert match
    return match[1], match[2]


def choose(client: Client, language: str, *, next_url: str = HOME) -> Any:
    return client.post(reverse("admin:choose_language"), {"language": language, "next": next_url})


@pytest.mark.parametrize(
    ("header", "language"),
    [("de-AT,en;q=0.5", "de"), ("ar", "ar"), ("fr,de;q=0.4", "de"), ("en,de;q=0.9", "en"), ("fr", "en"), ("", "en")],
)
def test_language_without_a_choice_is_the_browsers(client: Client, header: str, language: str) -> None:
    response = client.get(HOME, headers={"accept-language": header})

    assert language_and_direction(response) == (language, DIRECTIONS[language])
    assert response.headers["Content-Language"] == language
    assert {"Accept-Language", "Cookie"} <= set(response.headers["Vary"].split(", "))


def test_choice_overrides_the_browser_language_on_every_device(client: Client, user: User) -> None:
    choose(client, "ar")

    second_client = browser(user)
    for user_client in (client, second_client):
        assert language_and_direction(user_client.get(HOME, headers={"accept-language": "de"})) == ("ar", "rtl")
    assert "المنتجات والرموز" in text(second_client.get(HOME))


def test_english_can_be_chosen_over_the_browser_language(client: Client) -> None:
    choose(client, "en")

    assert language_and_direction(client.get(HOME, headers={"accept-language": "de"})) == ("en", "ltr")


def test_choice_does_not_affect_other_users(client: Client, brand: Brand) -> None:
    choose(client, "de")

    assert language_and_direction(browser(staff(brand)).get(HOME))[0] == "en"


def test_choice_before_the_login_is_saved_in_a_cookie(db: None) -> None:
    client = Client()

    assert language_and_direction(client.get(LOGIN)) == ("en", "ltr")
    response = choose(client, "de", next_url="/admin/login/?next=/admin/jobs/job/")

    assert response.url == "/admin/login/?next=/admin/jobs/job/"
    assert language_and_direction(client.get(LOGIN, headers={"accept-language": "ar"})) == ("de", "ltr")
    assert "Anmelden" in text(client.get(LOGIN))
    cookie = client.cookies[languages.PORTAL_COOKIE]
    assert (cookie["path"], cookie["samesite"], bool(cookie["httponly"])) == (HOME, "Lax", True)


def test_login_applies_the_users_language_and_logout_retains_it(user: User) -> None:
    User.objects.filter(pk=user.pk).update(portal_language="ar")
    client = Client()

    client.post(LOGIN, {"username": "olivia@example.com", "password": PASSWORD})
    assert language_and_direction(client.get(HOME)) == ("ar", "rtl")
    client.post(reverse("admin:logout"))

    assert language_and_direction(client.get(LOGIN)) == ("ar", "rtl")


@pytest.mark.parametrize("language", ["", "fr", "de\x00", "x" * 5000, "../de"])
def test_unknown_language_changes_nothing(client: Client, user: User, language: str) -> None:
    choose(client, "de")

    assert choose(client, language).status_code == 302

    user.refresh_from_db()
    assert user.portal_language == "de"
    assert client.cookies[languages.PORTAL_COOKIE].value == "de"


@pytest.mark.parametrize(
    "next_url", ["https://evil.example/", "//evil.example/admin/", "/s/", "javascript:alert(1)", ""]
)
def test_choice_redirects_only_within_the_portal(client: Client, next_url: str) -> None:
    assert choose(client, "de", next_url=next_url).url == HOME


def test_language_cannot_be_chosen_by_get(client: Client) -> None:
    assert client.get(reverse("admin:choose_language")).status_code == 405


def test_language_cannot_be_chosen_without_a_csrf_token(user: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(user)

    assert choose(client, "de").status_code == 403

    user.refresh_from_db()
    assert user.portal_language == ""


def test_choice_in_a_single_sign_on_session_is_not_saved_with_the_account(
    client: Client, user: User, brand: Brand
) -> None:
    session = client.session
    session["staff"] = {"brand": brand.pk}
    session.save()

    choose(client, "de")

    user.refresh_from_db()
    assert user.portal_language == ""
    assert language_and_direction(client.get(HOME))[0] == "de"


def test_choice_of_a_customer_is_saved_in_the_cookie_alone(brand: Brand) -> None:
    customer = factories.customer(brand)
    client = browser(customer)

    choose(client, "de")

    customer.refresh_from_db()
    assert customer.portal_language == ""
    assert client.cookies[languages.PORTAL_COOKIE].value == "de"


def test_pages_list_the_languages_by_their_native_names(client: Client) -> None:
    choose(client, "de")

    for page in (text(client.get(HOME)), text(client.get(reverse("admin:own_account"))), text(Client().get(LOGIN))):
        options = re.findall(r'<option value="(\w+)" lang="\w+"( selected)?>([^<]+)</option>', page)
        assert [(code, name) for code, _selected, name in options][:3] == [
            ("en", "English"),
            ("de", "Deutsch"),
            ("ar", "العربية"),
        ]
        assert 'action="/admin/language/"' in page


def test_error_pages_are_in_the_users_language(client: Client) -> None:
    choose(client, "ar")

    response = client.get("/admin/authcodes/product/999999999999/change/")

    assert response.status_code == 404
    assert language_and_direction(response) == ("ar", "rtl")
    assert "Page not found" not in text(response)


def test_language_does_not_leak_into_the_next_request(client: Client, api: Any) -> None:
    choose(client, "de")
    client.get(HOME)

    assert translation.get_language() == "en"
    response = api.hub().with_headers(accept_language="de").get("brand/products/999999")
    assert response.json()["message"] == "Not found."


# --- Stored texts and texts for other users ---


def test_audit_log_actions_are_stored_in_english(client: Client, brand: Brand) -> None:
    choose(client, "de")
    account = factories.account(factories.customer(brand), brand)
    url = address("authcodes.product", "add")

    client.post(url, {**form_of(client.get(url)), "sku": "mug", "title": "Mug", "price_currency": "EUR"})
    client.post(address("loyalty.userpoints"), {"action": "block", "reason": "Ja", "_selected_action": [account.pk]})

    actions = dict(AuditLogEntry.objects.values_list("kind", "action"))
    assert actions == {"authcodes.product": "Added", "loyalty.userpoints": "Blocked"}
    page = text(client.get(address("brands.auditlogentry")))
    assert "Hinzugefügt" in page
    assert ">Added<" not in page


def test_audit_log_row_names_are_stored_in_english(client: Client, brand: Brand) -> None:
    choose(client, "ar")
    role = staff(brand, role="support").staff_roles.get()
    url = address("brands.staffrole", "change", role.pk)

    client.post(url, {**form_of(client.get(url)), "role": "manager"})

    entry = AuditLogEntry.objects.filter(kind="brands.staffrole").latest("pk")
    assert entry.row_name == f"{role.user}, Manager of {brand}"


@pytest.mark.usefixtures("media")
def test_job_has_a_title_and_columns_in_english(client: Client, brand: Brand) -> None:
    choose(client, "de")
    url = "/admin/authcodes/authcode/export/"

    client.post(url, {"brand": brand.pk, "format": "csv"})

    job = Job.objects.latest("pk")
    assert (job.title, job.language) == ("Export codes", "de")
    runner.run(job.pk)
    job.refresh_from_db()
    header = job.result.read().decode().splitlines()[0]
    assert header.startswith("auth_code,product,created_date,expiration_date,status,batch,scan_count,")


def test_ledger_notes_are_stored_in_english_and_displayed_translated(client: Client, brand: Brand) -> None:
    choose(client, "de")
    account = factories.account(factories.customer(brand), brand)
    with translation.override("de"):
        assert ledger.settlement_note() == "Settled: points owed for returned orders"
    LoyaltyTransaction.objects.create(
        user_point=account, points_earned=1, reason="earned", reason_id="login:1", note="Points for logging in"
    )

    page = text(client.get(address("loyalty.loyaltytransaction")))
    assert "Punkte für die Anmeldung" in page
    assert "Points for logging in" not in page


def test_exported_file_is_the_same_in_every_language(brand: Brand) -> None:
    reward = factories.reward(brand, name="Mug")
    rows = Reward.objects.filter(pk=reward.pk)
    resource = registry.of_label("loyalty.reward")
    english = downloads.export(resource, rows, brand=brand, format=Format.CSV)

    with translation.override("ar"):
        arabic = downloads.export(resource, rows, brand=brand, format=Format.CSV)

    assert arabic.content == english.content
    assert arabic.headers["Content-Disposition"] == english.headers["Content-Disposition"]


def test_sign_in_is_logged_in_english_and_displayed_translated(user: User) -> None:
    User.objects.filter(pk=user.pk).update(portal_language="de")
    client = Client(headers={"accept-language": "de"})

    client.post(LOGIN, {"username": "olivia@example.com", "password": PASSWORD})

    assert AuditLogEntry.objects.latest("pk").action == "Logged in to the portal"
    assert "Unknown browser" not in text(client.get(reverse("admin:own_account")))


# --- Numbers and days ---


@pytest.mark.parametrize(
    ("language", "number", "day"),
    [("en", "25,800", "22 Nov 2027"), ("de", "25.800", "22.11.2027"), ("ar", "25,800", "22 نوفمبر 2027")],
)
def test_numbers_and_dates_are_formatted_in_the_users_language(
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
def test_saving_an_unchanged_form_changes_nothing_in_any_language(client: Client, brand: Brand, language: str) -> None:
    """Dates and decimals in fields are not localised, so that saving an unchanged form changes nothing."""
    level = factories.level(brand, "Gold", threshold=50, value="2.5")
    choose(client, language)

    url = address("loyalty.brandlevel", "change", level.pk)
    response = client.post(url, form_of(client.get(url)))

    assert response.status_code == 302, response.context["adminform"].form.errors
    assert list(AuditLogEntry.objects.values_list("kind", "changes")) == []


def test_cached_pages_do_not_leak_another_users_language(brand: Brand) -> None:
    brand, _rows = brand_with_one_of_each("northwind")
    english, german = browser(staff(brand)), browser(staff(brand))
    pages = [HOME, address("authcodes.batchrange"), address("jobs.job"), address("loyalty.webhookendpoint")]
    choose(german, "de")
    translated = [visible_texts(text(german.get(page))) for page in pages]

    original = [visible_texts(text(english.get(page))) for page in pages]

    assert [visible_texts(text(german.get(page))) for page in pages] == translated
    for labels in (
        ("Start", "Produkte und Codes", "Einstellungen"),
        ("Home", "Products & codes", "Settings"),
    ):
        texts = translated if labels[0] == "Start" else original
        other_pages = original if labels[0] == "Start" else translated
        for word in labels:
            assert all(word in page for page in texts)
            assert not any(word in page for page in other_pages)


def visible_texts(page: str) -> set[str]:
    """The texts between a page's tags."""
    without_scripts = re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.S)
    return {part.replace("&amp;", "&").strip() for part in re.findall(r">([^<>]+)<", without_scripts)} - {""}
