"""The customer API answers in the customer's language; codes and names do not change, and programs get English."""

import gettext
import re
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone, translation
from rest_framework import serializers

from brands import audit_log
from brands.models.audit import AuditLogEntry
from core import languages
from loyalty.models.notifications import Language, NotificationSettings
from loyalty.notifications import preferences
from tests.support import factories
from tests.support.machinery import customer_messages

CATALOGUES = Path(__file__).parents[2] / "locale"
TRANSLATED_LANGUAGES = [code for code, _name in settings.LANGUAGES if code != "en"]
ENTRY = re.compile(r'^(?:msgctxt "(.*)"\n)?msgid "(.*)"\nmsgstr "(.*)"$', re.MULTILINE)
SCANPAGE = Path(__file__).parents[2] / "scanpage" / "locale"
NOT_FOUND = {
    "en": "This brand has no reward with this id.",
    "de": "Diese Marke hat keine Prämie mit dieser Nummer.",
    "ar": "ليست لدى هذه العلامة التجارية مكافأة بهذا الرقم.",
}


def catalogue(language, root=CATALOGUES):
    """Translations by context and message."""
    text = (root / language / "LC_MESSAGES" / "django.po").read_text()
    plain = lambda part: part.replace('\\"', '"').replace("\\\\", "\\")  # noqa: E731
    return {(context, plain(key)): plain(value) for context, key, value in ENTRY.findall(text) if key}


def compiled_catalogue(language):
    with (CATALOGUES / language / "LC_MESSAGES" / "django.mo").open("rb") as file:
        return gettext.GNUTranslations(file)


def test_messages_for_customers_are_collected():
    assert len(customer_messages.marked()) > 100
    assert {"Not found.", "This code has already been scanned.", "Send true or false."} <= customer_messages.marked()


def test_every_customer_error_is_marked_for_translation():
    assert customer_messages.unmarked() == []


@pytest.mark.parametrize("language", TRANSLATED_LANGUAGES)
def test_every_message_is_translated(language):
    translations = catalogue(language)

    assert customer_messages.marked() - {key for context, key in translations if not context} == set()
    assert [key for key, value in translations.items() if not value.strip()] == []


@pytest.mark.parametrize("language", TRANSLATED_LANGUAGES)
def test_compiled_catalogue_matches_its_source(language):
    read = compiled_catalogue(language)
    translations = {
        (context, key): read.pgettext(context, key) if context else read.gettext(key)
        for context, key in catalogue(language)
    }

    assert translations == catalogue(language)


@pytest.mark.parametrize("language", TRANSLATED_LANGUAGES)
def test_translation_has_the_same_placeholders_and_full_stop(language):
    for (_context, key), value in catalogue(language).items():
        assert sorted(re.findall(r"%\(\w+\)[sd]", key)) == sorted(re.findall(r"%\(\w+\)[sd]", value)), key
        assert key.endswith(".") == value.endswith("."), key


@pytest.mark.parametrize("language", TRANSLATED_LANGUAGES)
def test_api_and_scan_page_share_their_translations(language):
    ours, page = catalogue(language), catalogue(language, SCANPAGE)

    assert {key: ours[key] for key in ours.keys() & page.keys()} == {
        key: page[key] for key in ours.keys() & page.keys()
    }


@pytest.mark.parametrize("language", TRANSLATED_LANGUAGES)
def test_errors_of_rest_framework_fields_are_translated(language):
    kinds = [serializers.CharField, serializers.IntegerField, serializers.EmailField, serializers.ChoiceField]
    with translation.override("en"):
        english = [str(text) for kind in kinds for text in kind.default_error_messages.values()]
    with translation.override(language):
        translated = [str(text) for kind in kinds for text in kind.default_error_messages.values()]

    assert [text for text in translated if text in english] == []


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("de", "de"),
        ("de-AT,en;q=0.5", "de"),
        ("fr,ar;q=0.8,de;q=0.3", "ar"),
        ("AR-eg", "ar"),
        ("fr-CH", ""),
        ("*", ""),
        ("", ""),
        ("de;q=0,en;q=0.1", "en"),
        ("x" * 600 + ",de", ""),
        ("de\x00", ""),
    ],
)
def test_accept_language_header_selects_the_language(header, language):
    assert languages.accepted(header) == language


@pytest.fixture
def brand(db):
    return factories.brand()


@pytest.fixture
def customer(brand):
    return factories.customer(brand)


def set_languages(brand, customer, *, own, of_brand):
    settings_of_brand, _new = NotificationSettings.objects.get_or_create(brand=brand)
    settings_of_brand.language = of_brand
    settings_of_brand.save()
    preferences.change(customer.pk, brand.pk, language=own, at=timezone.now())


@pytest.mark.parametrize(
    ("header", "own", "of_brand", "language"),
    [
        ("de", "ar", "ar", "de"),
        ("en", "ar", "ar", "en"),
        ("fr", "ar", "de", "ar"),
        ("", "ar", "de", "ar"),
        ("", "", "de", "de"),
        ("", "", "en", "en"),
    ],
)
def test_language_is_taken_from_request_then_profile_then_brand(api, brand, customer, header, own, of_brand, language):
    set_languages(brand, customer, own=own, of_brand=of_brand)
    caller = api.as_customer(customer)

    answer = (caller.with_headers(accept_language=header) if header else caller).post(
        "customer/loyalty/milestones/1/claim"
    )

    assert (answer.status_code, answer.json()["error"]) == (404, "REWARD_NOT_FOUND")
    assert answer.json()["message"] == NOT_FOUND[language]
    assert answer.headers["Content-Language"] == language
    assert "Accept-Language" in answer.headers["Vary"]


def test_brand_without_settings_answers_in_english(api, brand, customer):
    NotificationSettings.objects.filter(brand=brand).delete()

    answer = api.as_customer(customer).post("customer/loyalty/milestones/1/claim")

    assert answer.headers["Content-Language"] == "en"


def test_field_errors_are_in_the_customers_language(api, brand, customer):
    set_languages(brand, customer, own="de", of_brand="en")

    answer = api.as_customer(customer).post("auth-codes/scan", {"code": 7}).json()

    assert answer["error"] == "VALIDATION_ERROR"
    assert answer["details"]["fields"] == {"code": ["Senden Sie eine JSON-Zeichenkette."]}
    assert answer["message"] == "code: Senden Sie eine JSON-Zeichenkette."


def test_errors_with_values_are_in_the_customers_language(api, brand, customer):
    set_languages(brand, customer, own="de", of_brand="en")
    caller = api.as_customer(customer)

    assert caller.get("customer/loyalty/rewards?limit=0").json()["message"] == (
        "limit muss eine ganze Zahl von 1 bis 200 sein."
    )
    assert caller.get("customer/loyalty/transactions?reason=x").json()["message"] == (
        "reason ist earned, redeemed, expired, reversed, pending, released, cancelled oder merged."
    )


def test_scan_answers_in_the_profile_language_without_an_extra_query(api, brand, customer):
    set_languages(brand, customer, own="de", of_brand="en")
    code = factories.code(brand)
    caller = api.as_customer(customer)

    with CaptureQueriesContext(connection) as statements:
        answer = caller.post("auth-codes/scan", {"code": code.code})

    assert answer.json()["message"] == "Echtes Produkt. Ihre Punkte sind unterwegs."
    assert answer.headers["Content-Language"] == "de"
    assert [each["sql"] for each in statements if "preference" in each["sql"]] == [
        statement for statement in [each["sql"] for each in statements] if "authcodes_authcode c" in statement
    ][:1]


def test_guest_gets_answers_in_the_brands_language(api, brand, customer):
    set_languages(brand, customer, own="", of_brand="ar")

    answer = api.app().post("auth-codes/scan", {"code": factories.code(brand).code})

    assert answer.json()["message"] == "منتج أصلي. سجّل الدخول لتجمع النقاط."


def test_language_of_the_answer_does_not_reveal_a_codes_brand(api, brand, customer):
    """Another brand's code and an unknown one get the same answer, in the language of the calling brand."""
    other = factories.brand()
    set_languages(other, factories.customer(other), own="", of_brand="ar")

    answers = [api.app().post("auth-codes/scan", {"code": code}) for code in (factories.code(other).code, "NOBODYS1")]

    assert {(answer.json()["message"], answer.headers["Content-Language"]) for answer in answers} == {
        ("This code is not valid. Check it and try again, or ask the brand's support.", "en")
    }


def test_hub_gets_answers_in_english(api, brand, customer):
    set_languages(brand, customer, own="de", of_brand="de")
    hub = api.hub().with_headers(accept_language="de")

    for answer in (hub.get("brand/products/999999"), hub.post("auth-codes/scan", {"code": "NOBODYS1"})):
        assert re.match(r"Not found\.|This code is not valid\.", answer.json()["message"])


def test_language_of_a_request_does_not_leak_into_the_next(api, brand, customer):
    caller = api.as_customer(customer)
    caller.with_headers(accept_language="de").post("customer/loyalty/milestones/1/claim")

    assert translation.get_language() == "en"
    assert caller.post("customer/loyalty/milestones/1/claim").json()["message"] == NOT_FOUND["en"]


def test_rate_limit_error_ignores_stored_languages(api, brand, customer, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "read": "1/hour"}
    set_languages(brand, customer, own="de", of_brand="de")
    caller = api.as_customer(customer)
    caller.get("customer/loyalty/points")

    response = caller.with_headers(accept_language="de").get("customer/loyalty/points")

    assert response.json()["message"] == "Zu viele Anfragen. Warten Sie, bevor Sie es noch einmal versuchen."
    assert caller.get("customer/loyalty/points").json()["message"] == "Too many requests. Wait before trying again."


def test_answer_without_text_has_no_content_language_header(api, customer):
    assert "Content-Language" not in api.as_customer(customer).with_headers(accept_language="de").get(
        "customer/profile"
    )


def test_notifications_and_answers_have_the_same_languages():
    assert set(Language.values) == {code for code, _name in settings.LANGUAGES}


def test_audit_log_is_in_english_whatever_the_active_language(brand):
    with translation.override("de"):
        context = audit_log.AuditContext(None, timezone.now())
        audit_log.record(
            audit_context=context, action=audit_log.CHANGED, rows=[audit_log.AuditedChange(brand, brand.pk)]
        )

    assert AuditLogEntry.objects.latest("pk").action == "Changed"
