"""Legal texts: versions, languages, and the consents that customers give at registration and later."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from brands.models.legal_texts import LegalText
from brands.models.tenants import Brand
from brands.tenants import legal_texts
from loyalty.members import confirmations, consents
from loyalty.models.members.confirmations import EmailConfirmation
from loyalty.models.members.consents import Consent
from loyalty.models.notifications import NotificationSettings
from loyalty.personal_data import CONSENTS
from tests.support import factories
from tests.support.portal import address, browser, staff, text

NEWCOMER = {"email": "ada@example.com", "password": "a long pass phrase"}


@pytest.fixture
def terms(brand):
    return factories.legal_text(brand)


def texts(caller, language="en"):
    return caller.with_headers(accept_language=language).get("legal-texts").json()["data"]


def test_brand_without_legal_texts_returns_none_without_a_query(api, brand, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert legal_texts.in_force(brand=brand, language="en", at=timezone.now()) == []
    assert texts(api.app()) == []


def test_newest_version_that_has_begun_is_in_force(api, brand, terms):
    second = factories.legal_text(brand, version=2)
    factories.legal_text(brand, version=3, valid_from=timezone.now() + timedelta(hours=1))
    privacy = factories.legal_text(brand, kind="privacy", text="We keep little.")

    returned = texts(api.app())

    assert [(each["id"], each["kind"], each["version"]) for each in returned] == [
        (second.pk, "terms", 2),
        (privacy.pk, "privacy", 1),
    ]
    assert returned[1]["text"] == "We keep little."


@pytest.mark.parametrize(("language", "expected"), [("de", "de"), ("ar", "en"), ("en", "en")])
def test_text_is_in_the_requested_language_or_english(api, brand, terms, language, expected):
    factories.legal_text(brand, language="de", text="Einige Bedingungen.")

    assert [each["language"] for each in texts(api.app(), language)] == [expected]


def test_text_is_in_the_brands_language_if_the_request_names_none(api, brand, terms):
    factories.legal_text(brand, language="de", text="Einige Bedingungen.")
    NotificationSettings.objects.update_or_create(brand=brand, defaults={"language": "de"})

    assert [each["language"] for each in api.app().get("legal-texts").json()["data"]] == ["de"]
    assert [each["language"] for each in texts(api.hub(), "de")] == ["en"]


def test_text_in_a_single_language_is_returned_for_every_language(api, brand):
    factories.legal_text(brand, language="ar")

    assert [each["language"] for each in texts(api.app(), "de")] == ["ar"]


def test_caller_without_a_brand_reads_how_to_name_one(api):
    answer = api.with_headers(origin="https://unknown.example").get("legal-texts")

    assert answer.status_code == 400
    # The endpoint takes no brand_id, which other endpoints offer.
    assert answer.json()["message"] == "Send the api-key of the brand's app, or call one of the brand's hostnames."


def register(api, **overrides):
    return api.app().post("auth/register", {**NEWCOMER, **overrides})


def test_registration_records_the_agreed_texts_and_the_time(api, brand, terms):
    german = factories.legal_text(brand, language="de")
    answer = api.app().with_headers(accept_language="de").post("auth/register", {**NEWCOMER, "consented": True}).json()
    confirmation = EmailConfirmation.objects.get()
    user, _brand = confirmations.finish_registration(
        confirmation_id=confirmation.pk, code=confirmations.code_of(confirmation.pk), at=timezone.now()
    )

    consent = Consent.objects.get()
    assert answer["legal_texts"] == consent.legal_texts == [german.pk]
    assert (consent.user, consent.consented_at) == (user, confirmation.created_at)
    [exported] = CONSENTS.export(user.pk, brand.pk)
    assert exported["legal_texts"] == [{"kind": "terms", "version": 1, "language": "de"}]


def test_consent_is_stored_at_once_where_addresses_are_not_confirmed(api, brand, terms, settings):
    settings.REGISTRATION_CONFIRMS_EMAIL = False

    answer = register(api, consented=True, legal_texts=[terms.pk])

    assert answer.json()["legal_texts"] == [terms.pk]
    assert Consent.objects.get().legal_texts == [terms.pk]


def test_registration_without_consent_fields_succeeds(api, brand, terms):
    answer = register(api)

    assert (answer.status_code, answer.json()["legal_texts"]) == (201, [])
    assert EmailConfirmation.objects.get().legal_texts == []


def test_registration_requires_consent_to_exactly_the_texts_in_force(api, brand, terms):
    newer = factories.legal_text(brand, version=2)
    privacy = factories.legal_text(brand, kind="privacy")
    foreign_text = factories.legal_text(factories.brand())

    for text_ids in [
        [terms.pk, privacy.pk],
        [newer.pk],
        [foreign_text.pk, privacy.pk],
        [newer.pk, privacy.pk, foreign_text.pk],
    ]:
        answer = register(api, consented=True, legal_texts=text_ids)
        assert (answer.status_code, answer.json()["error"]) == (400, "VALIDATION_ERROR"), text_ids
        assert list(answer.json()["details"]["fields"]) == ["legal_texts"]
    assert not EmailConfirmation.objects.exists()
    assert register(api, consented=True, legal_texts=[privacy.pk, newer.pk]).status_code == 201


def test_customer_agrees_to_a_new_version(api, brand, customer, terms):
    customer_api = api.as_customer(customer)
    customer_api.post("customer/consents", {"legal_texts": [terms.pk]})
    newer = factories.legal_text(brand, version=2)
    translated = factories.legal_text(brand, version=2, language="de")

    before = customer_api.get("customer/consents").json()["data"]
    answer = customer_api.post("customer/consents", {"legal_texts": [newer.pk]})
    after = customer_api.with_headers(accept_language="de").get("customer/consents").json()["data"]

    assert [(each["text"]["id"], each["agreed_at"]) for each in before] == [(newer.pk, None)]
    assert answer.status_code == 201
    assert [each["text"]["id"] for each in after] == [translated.pk]  # the German text of the same version
    assert after[0]["agreed_at"] is not None
    assert [each.legal_texts for each in Consent.objects.order_by("pk")] == [[terms.pk], [newer.pk]]


def test_consent_at_one_brand_does_not_count_at_another(api, brand, customer, terms):
    other = factories.brand()
    foreign_text = factories.legal_text(other)
    consents.give(user_id=customer.pk, brand=other, text_ids=[foreign_text.pk], at=timezone.now())

    assert [each["agreed_at"] for each in api.as_customer(customer).get("customer/consents").json()["data"]] == [None]
    assert [each["id"] for each in texts(api.app())] == [terms.pk]


def test_erasure_deletes_consents(brand, customer, terms):
    consents.give(user_id=customer.pk, brand=brand, text_ids=[terms.pk], at=timezone.now())

    CONSENTS.erase(customer.pk, brand.pk, to=factories.user().pk, at=timezone.now())

    assert not Consent.objects.exists()
    assert LegalText.objects.get() == terms


def fields(brand, **overrides):
    return {
        "brand": brand.pk,
        "kind": "terms",
        "version": "1",
        "language": "en",
        "text": "Be kind.",
        "valid_from_0": "2026-01-01",
        "valid_from_1": "00:00",
        **overrides,
    }


def test_legal_text_in_force_cannot_be_changed_or_duplicated(brand):
    owner = browser(staff(brand))
    owner.post(address("brands.legaltext", "add"), fields(brand))
    legal_text = LegalText.objects.get()
    page = address("brands.legaltext", "change", legal_text.pk)

    rejected = owner.post(page, fields(brand, text="Be cruel."))
    duplicate = owner.post(address("brands.legaltext", "add"), fields(brand, text="Be cruel."))

    assert rejected.status_code == 403
    assert "This text already exists." in text(duplicate)
    assert [row.text for row in LegalText.objects.all()] == ["Be kind."]
    assert Brand.objects.get(pk=brand.pk).has_legal_texts
    assert "Be kind." in text(owner.get(page))


def test_planned_text_can_be_changed_and_list_shows_what_is_in_force(brand):
    owner = browser(staff(brand))
    planned = factories.legal_text(brand, version=3, valid_from=timezone.now() + timedelta(days=1))
    factories.legal_text(brand, version=1)
    factories.legal_text(brand, version=2)

    owner.post(
        address("brands.legaltext", "change", planned.pk),
        fields(brand, version="3", text="Better.", valid_from_0="2036-01-01"),
    )

    planned.refresh_from_db()
    assert planned.text == "Better."
    list_page = text(owner.get(address("brands.legaltext")))
    assert re.findall(r">\s*(Planned|In force|Replaced)\s*<", list_page) == ["Planned", "In force", "Replaced"]


@pytest.mark.parametrize(("role", "status"), [("manager", 403), ("support", 403), ("printer", 403)])
def test_other_roles_cannot_add_legal_texts(brand, role, status):
    assert (
        browser(staff(brand, role=role)).post(address("brands.legaltext", "add"), fields(brand)).status_code == status
    )
    assert not LegalText.objects.exists()


def test_agreeing_again_keeps_the_first_time_and_adds_no_row(brand, customer):
    terms = factories.legal_text(brand, valid_from=timezone.now() - timedelta(days=3))
    first, second = timezone.now() - timedelta(days=2), timezone.now()
    for at in (first, second):
        consents.give(user_id=customer.pk, brand=Brand.objects.get(pk=brand.pk), text_ids=[terms.pk], at=at)

    [agreement] = consents.agreements(
        user_id=customer.pk, brand=Brand.objects.get(pk=brand.pk), language="en", at=second
    )
    assert (Consent.objects.count(), agreement.agreed_at) == (1, first)


def test_only_the_last_of_many_versions_is_in_force(brand, terms):
    for version in range(2, 6):
        last = factories.legal_text(brand, version=version)

    current = legal_texts.all_in_force(brand=Brand.objects.get(pk=brand.pk), at=timezone.now())
    assert list(current) == [last]
