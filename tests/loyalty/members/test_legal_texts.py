"""What customers agree to: versions and languages, what a registration keeps, and who is asked again."""

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
from loyalty.personal_data import CONSENTS
from tests.support import factories
from tests.support.portal import address, browser, staff, text

NEWCOMER = {"email": "ada@example.com", "password": "a long pass phrase"}


@pytest.fixture
def terms(brand):
    return factories.legal_text(brand)


def texts(caller, language="en"):
    return caller.having(accept_language=language).get("legal-texts").json()["data"]


def test_a_brand_without_texts_has_none_and_asks_no_table(api, brand, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert legal_texts.in_force(brand=brand, language="en", at=timezone.now()) == []
    assert texts(api.app()) == []


def test_the_newest_version_that_has_begun_is_in_force(api, brand, terms):
    second = factories.legal_text(brand, version=2)
    factories.legal_text(brand, version=3, valid_from=timezone.now() + timedelta(hours=1))
    privacy = factories.legal_text(brand, kind="privacy", text="We keep little.")

    shown = texts(api.app())

    assert [(each["id"], each["kind"], each["version"]) for each in shown] == [
        (second.pk, "terms", 2),
        (privacy.pk, "privacy", 1),
    ]
    assert shown[1]["text"] == "We keep little."


@pytest.mark.parametrize(("language", "shown"), [("de", "de"), ("ar", "en"), ("en", "en")])
def test_a_text_is_in_the_language_asked_for_else_in_english(api, brand, terms, language, shown):
    factories.legal_text(brand, language="de", text="Einige Bedingungen.")

    assert [each["language"] for each in texts(api.app(), language)] == [shown]


def test_a_text_in_one_language_alone_is_shown_to_all(api, brand):
    factories.legal_text(brand, language="ar")

    assert [each["language"] for each in texts(api.app(), "de")] == ["ar"]


def register(api, **more):
    return api.app().post("auth/register", {**NEWCOMER, **more})


def test_a_registration_keeps_which_texts_were_agreed_to_and_when(api, brand, terms):
    german = factories.legal_text(brand, language="de")
    answer = api.app().having(accept_language="de").post("auth/register", {**NEWCOMER, "consented": True}).json()
    begun = EmailConfirmation.objects.get()
    user, _brand = confirmations.finish_registration(
        confirmation_id=begun.pk, code=confirmations.code_of(begun.pk), at=timezone.now()
    )

    kept = Consent.objects.get()
    assert answer["legal_texts"] == kept.legal_texts == [german.pk]
    assert (kept.user, kept.consented_at) == (user, begun.created_at)
    [handed_out] = CONSENTS.export(user.pk, brand.pk)
    assert handed_out["legal_texts"] == [{"kind": "terms", "version": 1, "language": "de"}]


def test_where_no_address_is_confirmed_it_is_kept_at_once(api, brand, terms, settings):
    settings.REGISTRATION_CONFIRMS_EMAIL = False

    answer = register(api, consented=True, legal_texts=[terms.pk])

    assert answer.json()["legal_texts"] == [terms.pk]
    assert Consent.objects.get().legal_texts == [terms.pk]


def test_clients_that_know_nothing_of_texts_register_as_before(api, brand, terms):
    answer = register(api)

    assert (answer.status_code, answer.json()["legal_texts"]) == (201, [])
    assert EmailConfirmation.objects.get().legal_texts == []


def test_texts_that_are_not_in_force_are_not_agreed_to(api, brand, terms):
    newer = factories.legal_text(brand, version=2)
    privacy = factories.legal_text(brand, kind="privacy")
    elsewhere = factories.legal_text(factories.brand())

    for shown in [[terms.pk, privacy.pk], [newer.pk], [elsewhere.pk, privacy.pk], [newer.pk, privacy.pk, elsewhere.pk]]:
        answer = register(api, consented=True, legal_texts=shown)
        assert (answer.status_code, answer.json()["error"]) == (400, "VALIDATION_ERROR"), shown
        assert list(answer.json()["details"]["fields"]) == ["legal_texts"]
    assert not EmailConfirmation.objects.exists()
    assert register(api, consented=True, legal_texts=[privacy.pk, newer.pk]).status_code == 201


def test_a_customer_agrees_to_a_new_version(api, brand, customer, terms):
    customer_api = api.as_customer(customer)
    customer_api.post("customer/consents", {"legal_texts": [terms.pk]})
    newer = factories.legal_text(brand, version=2)
    translated = factories.legal_text(brand, version=2, language="de")

    before = customer_api.get("customer/consents").json()["data"]
    given = customer_api.post("customer/consents", {"legal_texts": [newer.pk]})
    after = customer_api.having(accept_language="de").get("customer/consents").json()["data"]

    assert [(each["text"]["id"], each["agreed_at"]) for each in before] == [(newer.pk, None)]
    assert given.status_code == 201
    assert [each["text"]["id"] for each in after] == [translated.pk]  # of the same version
    assert after[0]["agreed_at"] is not None
    assert [each.legal_texts for each in Consent.objects.order_by("pk")] == [[terms.pk], [newer.pk]]


def test_what_one_brand_asks_is_nothing_to_another(api, brand, customer, terms):
    other = factories.brand()
    foreign_text = factories.legal_text(other)
    consents.give(user_id=customer.pk, brand=other, text_ids=[foreign_text.pk], at=timezone.now())

    assert [each["agreed_at"] for each in api.as_customer(customer).get("customer/consents").json()["data"]] == [None]
    assert [each["id"] for each in texts(api.app())] == [terms.pk]


def test_consents_go_with_the_person(brand, customer, terms):
    consents.give(user_id=customer.pk, brand=brand, text_ids=[terms.pk], at=timezone.now())

    CONSENTS.erase(customer.pk, brand.pk, to=factories.user().pk, at=timezone.now())

    assert not Consent.objects.exists()
    assert LegalText.objects.get() == terms


def fields(brand, **more):
    return {
        "brand": brand.pk,
        "kind": "terms",
        "version": "1",
        "language": "en",
        "text": "Be kind.",
        "valid_from_0": "2026-01-01",
        "valid_from_1": "00:00",
        **more,
    }


def test_an_owner_writes_a_text_which_stays_as_it_is_once_in_force(brand):
    owner = browser(staff(brand))
    owner.post(address("brands.legaltext", "add"), fields(brand))
    made = LegalText.objects.get()
    page = address("brands.legaltext", "change", made.pk)

    refused = owner.post(page, fields(brand, text="Be cruel."))
    again = owner.post(address("brands.legaltext", "add"), fields(brand, text="Be cruel."))

    assert refused.status_code == 403
    assert "This text already exists." in text(again)
    assert [row.text for row in LegalText.objects.all()] == ["Be kind."]
    assert Brand.objects.get(pk=brand.pk).has_legal_texts
    assert "Be kind." in text(owner.get(page))


def test_a_planned_text_can_still_be_changed_and_the_list_says_what_is_in_force(brand):
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
    shown = text(owner.get(address("brands.legaltext")))
    assert re.findall(r">\s*(Planned|In force|Replaced)\s*<", shown) == ["Planned", "In force", "Replaced"]


@pytest.mark.parametrize(("role", "status"), [("manager", 403), ("support", 403), ("printer", 403)])
def test_others_write_none(brand, role, status):
    assert (
        browser(staff(brand, role=role)).post(address("brands.legaltext", "add"), fields(brand)).status_code == status
    )
    assert not LegalText.objects.exists()


def test_agreeing_again_keeps_the_first_moment_and_adds_no_row(brand, customer):
    terms = factories.legal_text(brand, valid_from=timezone.now() - timedelta(days=3))
    first, second = timezone.now() - timedelta(days=2), timezone.now()
    for at in (first, second):
        consents.give(user_id=customer.pk, brand=Brand.objects.get(pk=brand.pk), text_ids=[terms.pk], at=at)

    [agreement] = consents.agreements(
        user_id=customer.pk, brand=Brand.objects.get(pk=brand.pk), language="en", at=second
    )
    assert (Consent.objects.count(), agreement.agreed_at) == (1, first)


def test_replaced_versions_are_not_read(brand, terms):
    for version in range(2, 6):
        last = factories.legal_text(brand, version=version)

    current = legal_texts.all_in_force(brand=Brand.objects.get(pk=brand.pk), at=timezone.now())
    assert list(current) == [last]
