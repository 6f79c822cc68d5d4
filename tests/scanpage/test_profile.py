"""A customer's account page without scripts, and the consent that registration requires."""

import re
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from brands.audit_log import AuditContext
from brands.models.people import User
from events.models import Event
from jobs import runner
from jobs.models import Job
from loyalty.members import confirmations, corrections
from loyalty.models.members.confirmations import EmailConfirmation
from loyalty.models.members.consents import Consent
from loyalty.notifications import preferences
from loyalty.personal_data import CONSENTS
from loyalty.points import accounts
from scanpage import languages
from tests.scanpage.conftest import customer_with_password, logged_in_browser, visible_html
from tests.support import factories
from tests.support.factories import PASSWORD

pytestmark = pytest.mark.django_db
LINKS = {"terms_url": "https://example.com/terms-2", "privacy_url": "https://example.com/privacy"}


@pytest.fixture
def member(brand):
    return customer_with_password(brand, first_name="Ada")


@pytest.fixture
def member_browser(brand, member):
    return logged_in_browser(brand, member)


@pytest.fixture
def terms_links(brand):
    type(brand).objects.filter(pk=brand.pk).update(**LINKS)


def submit(browser, act, **fields):
    return browser.send(browser.get("/account"), act, **fields)


def test_guest_is_redirected_to_the_login(browser):
    assert browser.get("/account")["Location"] == "/s/?account"


def test_customer_can_change_name_language_and_notification_preferences(member_browser, brand, member):
    switches = {"points/email": "on", "offers/push": "on", "safety/push": "on"}
    submit(
        member_browser,
        "profile",
        first_name="Augusta",
        last_name="King",
        phone="+4930123456",
        language="de",
        **switches,
    )

    member.refresh_from_db()
    saved_preferences = preferences.read(member.pk, brand.pk)
    assert (member.first_name, member.last_name) == ("Augusta", "King")
    assert (saved_preferences.phone, saved_preferences.language) == ("+4930123456", "de")
    enabled = [
        f"{topic}/{channel}"
        for topic, channels in saved_preferences.switches().items()
        for channel, is_enabled in channels.items()
        if is_enabled
    ]
    assert sorted(enabled) == ["offers/push", "points/email", "safety/email", "safety/push"]


def correct_name(member, brand, first_name, last_name):
    accounts.enrol(user_id=member.pk, brand_id=brand.pk, at=timezone.now())
    account = factories.account(member, brand)
    corrections.correct_name(
        account=account, first_name=first_name, last_name=last_name, audit_context=AuditContext(None, timezone.now())
    )


def names_in_form(page):
    return dict(re.findall(r'<input name="(first_name|last_name)"[^>]* value="([^"]*)"', visible_html(page)))


def test_saving_a_name_corrected_by_the_brand_does_not_change_other_brands(member_browser, brand, member):
    other_brand = factories.brand()
    correct_name(member, other_brand, "Adelaide", "King")
    correct_name(member, brand, "BUY AT BRAND A", "Byron")
    page = member_browser.get("/account")
    assert names_in_form(page) == {"first_name": "BUY AT BRAND A", "last_name": "Byron"}

    member_browser.send(page, "profile", **names_in_form(page), phone="", language="de")

    member.refresh_from_db()
    assert (member.first_name, member.last_name) == ("Ada", "")
    assert accounts.names_of(member, other_brand.pk) == ("Adelaide", "King")
    assert names_in_form(member_browser.get("/account")) == {"first_name": "BUY AT BRAND A", "last_name": "Byron"}
    assert preferences.read(member.pk, brand.pk).language == "de"


def test_saving_a_stale_name_keeps_the_brands_newer_correction(member_browser, brand, member):
    correct_name(member, brand, "BUY AT BRAND A", "Byron")
    page = member_browser.get("/account")
    correct_name(member, brand, "BUY MORE", "Byron")

    member_browser.send(page, "profile", **names_in_form(page), phone="", language="")

    member.refresh_from_db()
    assert (member.first_name, member.last_name) == ("Ada", "")
    assert accounts.names_of(member, brand.pk) == ("BUY MORE", "Byron")


def test_errors_of_the_api_are_displayed_on_the_page(member_browser, member):
    response = submit(member_browser, "profile", first_name="Ada", last_name="", phone="12", language="")

    assert response.status_code == 400
    assert 'class="wrong" role="alert"' in visible_html(response)


def test_rejected_changes_stay_in_the_form_for_another_try(member_browser):
    switches = {"points/sms": "on", "offers/push": "on"}

    response = submit(member_browser, "profile", first_name="Augusta", phone="12", language="de", **switches)

    html = visible_html(response)
    assert names_in_form(response)["first_name"] == "Augusta"
    assert re.search(r'name="phone"[^>]* value="12"', html)
    assert sorted(re.findall(r'name="(\w+/\w+)" checked', html)) == ["offers/push", "points/sms", "safety/email"]
    assert 'value="ada@"' in visible_html(submit(member_browser, "email", email="ada@"))


def test_change_of_the_address_waits_for_its_confirmation(member_browser, brand, member):
    submit(member_browser, "email", email="new@example.com")

    assert EmailConfirmation.objects.get().email == "new@example.com"
    member.refresh_from_db()
    assert member.email != "new@example.com"


def test_password_link_is_sent_to_the_customer(member_browser, member):
    response = submit(member_browser, "password")

    assert response["Location"].endswith("?linked")
    event = Event.objects.get(detail_type="notify")
    assert event.detail["arguments"]["user_id"] == member.pk


def test_account_deletion_requires_password_and_confirmation(member_browser, brand, member):
    assert submit(member_browser, "erase", password="wrong password", sure="1").status_code == 400
    submit(member_browser, "erase", password=PASSWORD)  # without the confirmation
    assert User.objects.get(pk=member.pk).is_active

    response = submit(member_browser, "erase", password=PASSWORD, sure="1")

    assert not User.objects.get(pk=member.pk).is_active
    assert "Your account is deleted" in visible_html(member_browser.get(response["Location"]))


def test_form_without_a_csrf_token_changes_nothing(member_browser, member):
    assert (
        member_browser.client.post("/account", {"act": "erase", "password": PASSWORD, "sure": "1"}).status_code == 403
    )
    assert User.objects.get(pk=member.pk).is_active


@pytest.mark.parametrize("language", list(languages.LANGUAGES))
def test_page_is_available_in_every_language(member_browser, language):
    page = member_browser.get(f"/account?lang={language}")

    assert page.status_code == 200
    assert ("About you" in visible_html(page)) is (language == "en")


def test_registration_requires_consent_and_records_its_texts_and_time(browser, brand, terms_links):
    page = browser.get("/s/")
    form_data = {"email": "ada@example.com", "password": PASSWORD, "first_name": "Ada"}
    assert LINKS["terms_url"] in visible_html(page)

    rejected = browser.send(page, "register", **form_data)
    assert rejected.status_code == 400
    assert not EmailConfirmation.objects.exists()
    confirmation_page = browser.send(browser.get("/s/"), "register", **form_data, consented="1")
    confirmation = EmailConfirmation.objects.get()
    browser.send(confirmation_page, "confirm", code=confirmations.code_of(confirmation.pk))

    consent = Consent.objects.get()
    assert (consent.brand, consent.user.email) == (brand, "ada@example.com")
    assert (consent.terms_url, consent.privacy_url, consent.consented_at) == (*LINKS.values(), confirmation.created_at)
    assert next(iter(CONSENTS.export(consent.user_id, brand.pk)))["terms_url"] == LINKS["terms_url"]


def test_registration_without_terms_requires_no_consent(browser):
    page = browser.get("/s/")

    assert "consented" not in visible_html(page)
    assert browser.send(page, "register", email="ada@example.com", password=PASSWORD).status_code == 200


@pytest.mark.parametrize("link", ["http://example.com/terms", "javascript:alert(1)", "https://", "terms"])
def test_terms_link_must_be_https(brand, link):
    brand.terms_url = link
    with pytest.raises(Exception, match="https"):
        brand.full_clean()


def test_registration_by_scripts_requires_consent(browser, brand, terms_links):
    token = browser.get("/s/").context["csrf_token"]
    body = {"act": "register", "email": "ada@example.com", "password": PASSWORD}

    def session(**fields):
        return browser.client.post(
            "/page/session", {**body, **fields}, content_type="application/json", headers={"X-CSRFToken": str(token)}
        )

    assert session().status_code == 400
    assert session(consented="1").status_code == 200
    assert EmailConfirmation.objects.get().terms_url == LINKS["terms_url"]


@pytest.fixture
def legal_text_ids(brand):
    legal_texts = [
        factories.legal_text(brand, kind="terms", text="Be kind.\n\n<b>Always</b>."),
        factories.legal_text(brand, kind="terms", language="de", text="Seien Sie freundlich."),
        factories.legal_text(brand, kind="consent", text="I agree to be kind."),
    ]
    return [legal_texts[0].pk, legal_texts[2].pk]


def test_legal_texts_of_the_brand_are_displayed_escaped_and_by_language(browser, brand, legal_text_ids):
    english, german = browser.get("/legal/terms"), browser.get("/legal/terms?lang=de")

    assert "<p>Be kind.</p>" in visible_html(english)
    assert "&lt;b&gt;Always&lt;/b&gt;" in visible_html(english)
    assert "Seien Sie freundlich." in visible_html(german)
    assert [browser.get(f"/legal/{kind}").status_code for kind in ("privacy", "consent", "else")] == [404, 404, 404]


def test_registration_records_the_displayed_texts_and_rejects_outdated_ones(browser, brand, legal_text_ids):
    page = browser.get("/s/")
    assert "I agree to be kind." in visible_html(page)
    assert 'href="/legal/terms"' in visible_html(page)
    form_data = {"email": "ada@example.com", "password": PASSWORD}
    assert browser.send(page, "register", **form_data).status_code == 400
    browser.send(page, "register", **form_data, consented="1")
    assert EmailConfirmation.objects.get().legal_texts == legal_text_ids

    factories.legal_text(brand, kind="terms", version=2)
    late_response = browser.send(page, "register", email="eve@example.com", password=PASSWORD, consented="1")

    assert late_response.status_code == 400
    assert "not the texts that are in force" in visible_html(late_response)


def test_unknown_legal_text_ids_are_rejected_without_an_error(browser, member_browser, brand, legal_text_ids):
    unknown_id, form_data = "9" * 30, {"email": "ada@example.com", "password": PASSWORD, "consented": "1"}

    registration = browser.send(browser.get("/s/"), "register", **form_data, legal_texts=unknown_id)
    agreement = member_browser.send(member_browser.get("/s/?account"), "agree", legal_texts=unknown_id)

    assert (registration.status_code, EmailConfirmation.objects.count()) == (400, 0)
    assert (agreement.status_code, Consent.objects.count()) == (303, 0)
    assert "Please read and agree" in visible_html(member_browser.get("/s/?account"))


def test_future_legal_text_does_not_affect_registration(browser, brand):
    factories.legal_text(brand, valid_from=timezone.now() + timedelta(days=1))
    page = browser.get("/s/")
    assert 'name="consented"' not in visible_html(page)

    browser.send(page, "register", email="ada@example.com", password=PASSWORD)

    assert EmailConfirmation.objects.get().legal_texts == []


def test_registration_form_older_than_the_first_text_is_rejected(browser, brand):
    page = browser.get("/s/")
    factories.legal_text(brand)

    late_response = browser.send(page, "register", email="ada@example.com", password=PASSWORD, consented="1")

    assert (late_response.status_code, EmailConfirmation.objects.count()) == (400, 0)


def test_existing_member_sees_the_consent_form_once(member_browser, brand, member, legal_text_ids):
    page = member_browser.get("/s/?account")
    assert "Please read and agree" in visible_html(page)

    member_browser.send(page, "agree")

    assert Consent.objects.get().legal_texts == legal_text_ids
    assert "Please read and agree" not in visible_html(member_browser.get("/s/?account"))


def test_page_without_legal_texts_makes_no_query_for_them(browser, brand):
    browser.get("/s/")
    with CaptureQueriesContext(connection) as queries:
        browser.get("/s/")

    assert [query["sql"] for query in queries if "legaltext" in query["sql"]] == []


def test_customer_can_download_their_data(member_browser, brand, member, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    page = member_browser.get("/account")
    assert "Download my data" not in visible_html(page)

    member_browser.send(page, "data")
    assert "Your file is being prepared." in visible_html(member_browser.get("/account"))
    runner.run(Job.objects.get().pk)

    assert 'href="/page/data"' in visible_html(member_browser.get("/account"))
    response = member_browser.get("/page/data")
    assert response["Content-Disposition"] == 'attachment; filename="my-data.json"'
    assert member.email in response.content.decode()
    assert response.json()["success"] is True


def test_data_download_requires_a_login(browser):
    assert browser.get("/page/data")["Location"] == "/account"
