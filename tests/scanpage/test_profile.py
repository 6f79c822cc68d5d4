"""A customer's own page without scripts, and what registering with a brand's terms asks for."""

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
from tests.scanpage.conftest import customer_of, logged_in, seen
from tests.support import factories
from tests.support.factories import PASSWORD

pytestmark = pytest.mark.django_db
LINKS = {"terms_url": "https://example.com/terms-2", "privacy_url": "https://example.com/privacy"}


@pytest.fixture
def member(brand):
    return customer_of(brand, first_name="Ada")


@pytest.fixture
def own(brand, member):
    return logged_in(brand, member)


@pytest.fixture
def terms(brand):
    type(brand).objects.filter(pk=brand.pk).update(**LINKS)


def send(browser, act, **fields):
    return browser.send(browser.get("/account"), act, **fields)


def test_a_guest_is_led_to_the_login(browser):
    assert browser.get("/account")["Location"] == "/s/?account"


def test_a_customer_changes_name_language_and_wishes(own, brand, member):
    switches = {"points/email": "on", "offers/push": "on", "safety/push": "on"}
    send(own, "profile", first_name="Augusta", last_name="King", phone="+4930123456", language="de", **switches)

    member.refresh_from_db()
    wishes = preferences.read(member.pk, brand.pk)
    assert (member.first_name, member.last_name) == ("Augusta", "King")
    assert (wishes.phone, wishes.language) == ("+4930123456", "de")
    on = [f"{topic}/{each}" for topic, ways in wishes.switches().items() for each, wants in ways.items() if wants]
    assert sorted(on) == ["offers/push", "points/email", "safety/email", "safety/push"]


def correct(member, brand, first_name, last_name):
    accounts.enrol(user_id=member.pk, brand_id=brand.pk, at=timezone.now())
    account = factories.account(member, brand)
    corrections.correct_name(
        account=account, first_name=first_name, last_name=last_name, audit_context=AuditContext(None, timezone.now())
    )


def names_on(page):
    return dict(re.findall(r'<input name="(first_name|last_name)"[^>]* value="([^"]*)"', seen(page)))


def test_saving_the_page_with_a_corrected_name_gives_no_other_brand_the_name(own, brand, member):
    other = factories.brand()
    correct(member, other, "Adelaide", "King")
    correct(member, brand, "BUY AT BRAND A", "Byron")
    page = own.get("/account")
    assert names_on(page) == {"first_name": "BUY AT BRAND A", "last_name": "Byron"}

    own.send(page, "profile", **names_on(page), phone="", language="de")

    member.refresh_from_db()
    assert (member.first_name, member.last_name) == ("Ada", "")
    assert accounts.names_of(member, other.pk) == ("Adelaide", "King")
    assert names_on(own.get("/account")) == {"first_name": "BUY AT BRAND A", "last_name": "Byron"}
    assert preferences.read(member.pk, brand.pk).language == "de"


def test_a_name_that_is_corrected_again_while_the_page_is_open_stays_at_its_brand(own, brand, member):
    correct(member, brand, "BUY AT BRAND A", "Byron")
    page = own.get("/account")
    correct(member, brand, "BUY MORE", "Byron")

    own.send(page, "profile", **names_on(page), phone="", language="")

    member.refresh_from_db()
    assert (member.first_name, member.last_name) == ("Ada", "")
    assert accounts.names_of(member, brand.pk) == ("BUY MORE", "Byron")


def test_what_the_api_refuses_is_said_on_the_page(own, member):
    answer = send(own, "profile", first_name="Ada", last_name="", phone="12", language="")

    assert answer.status_code == 400
    assert 'class="wrong" role="alert"' in seen(answer)


def test_a_new_address_gets_a_link(own, brand, member):
    send(own, "email", email="new@example.com")

    assert EmailConfirmation.objects.get().email == "new@example.com"
    member.refresh_from_db()
    assert member.email != "new@example.com"


def test_a_password_link_goes_to_the_own_address(own, member):
    answer = send(own, "password")

    assert answer["Location"].endswith("?linked")
    event = Event.objects.get(detail_type="notify")
    assert event.detail["arguments"]["user_id"] == member.pk


def test_an_account_is_deleted_with_its_password_alone(own, brand, member):
    assert send(own, "erase", password="wrong password", sure="1").status_code == 400
    send(own, "erase", password=PASSWORD)  # not sure
    assert User.objects.get(pk=member.pk).is_active

    answer = send(own, "erase", password=PASSWORD, sure="1")

    assert not User.objects.get(pk=member.pk).is_active
    assert "Your account is deleted" in seen(own.get(answer["Location"]))


def test_a_forged_form_changes_nothing(own, member):
    assert own.client.post("/account", {"act": "erase", "password": PASSWORD, "sure": "1"}).status_code == 403
    assert User.objects.get(pk=member.pk).is_active


@pytest.mark.parametrize("language", list(languages.LANGUAGES))
def test_the_page_speaks_every_language(own, language):
    page = own.get(f"/account?lang={language}")

    assert page.status_code == 200
    assert ("About you" in seen(page)) is (language == "en")


def test_registering_asks_for_consent_and_keeps_to_what_and_when(browser, brand, terms):
    page = browser.get("/s/")
    form_data = {"email": "ada@example.com", "password": PASSWORD, "first_name": "Ada"}
    assert LINKS["terms_url"] in seen(page)

    refused = browser.send(page, "register", **form_data)
    assert refused.status_code == 400
    assert not EmailConfirmation.objects.exists()
    waiting = browser.send(browser.get("/s/"), "register", **form_data, consented="1")
    begun = EmailConfirmation.objects.get()
    browser.send(waiting, "confirm", code=confirmations.code_of(begun.pk))

    kept = Consent.objects.get()
    assert (kept.brand, kept.user.email) == (brand, "ada@example.com")
    assert (kept.terms_url, kept.privacy_url, kept.consented_at) == (*LINKS.values(), begun.created_at)
    assert next(iter(CONSENTS.export(kept.user_id, brand.pk)))["terms_url"] == LINKS["terms_url"]


def test_a_brand_without_terms_asks_for_nothing(browser):
    page = browser.get("/s/")

    assert "consented" not in seen(page)
    assert browser.send(page, "register", email="ada@example.com", password=PASSWORD).status_code == 200


@pytest.mark.parametrize("link", ["http://example.com/terms", "javascript:alert(1)", "https://", "terms"])
def test_links_are_https(brand, link):
    brand.terms_url = link
    with pytest.raises(Exception, match="https"):
        brand.full_clean()


def test_scripts_register_with_consent_only(browser, brand, terms):
    token = browser.get("/s/").context["csrf_token"]
    body = {"act": "register", "email": "ada@example.com", "password": PASSWORD}

    def session(**more):
        return browser.client.post(
            "/page/session", {**body, **more}, content_type="application/json", headers={"X-CSRFToken": str(token)}
        )

    assert session().status_code == 400
    assert session(consented="1").status_code == 200
    assert EmailConfirmation.objects.get().terms_url == LINKS["terms_url"]


@pytest.fixture
def texts(brand):
    made = [
        factories.legal_text(brand, kind="terms", text="Be kind.\n\n<b>Always</b>."),
        factories.legal_text(brand, kind="terms", language="de", text="Seien Sie freundlich."),
        factories.legal_text(brand, kind="consent", text="I agree to be kind."),
    ]
    return [made[0].pk, made[2].pk]


def test_the_brands_own_texts_are_read_on_the_page(browser, brand, texts):
    english, german = browser.get("/legal/terms"), browser.get("/legal/terms?lang=de")

    assert "<p>Be kind.</p>" in seen(english)
    assert "&lt;b&gt;Always&lt;/b&gt;" in seen(english)
    assert "Seien Sie freundlich." in seen(german)
    assert [browser.get(f"/legal/{kind}").status_code for kind in ("privacy", "consent", "else")] == [404, 404, 404]


def test_registering_keeps_the_texts_that_were_shown(browser, brand, texts):
    page = browser.get("/s/")
    assert "I agree to be kind." in seen(page)
    assert 'href="/legal/terms"' in seen(page)
    filled = {"email": "ada@example.com", "password": PASSWORD}
    assert browser.send(page, "register", **filled).status_code == 400
    browser.send(page, "register", **filled, consented="1")
    assert EmailConfirmation.objects.get().legal_texts == texts

    factories.legal_text(brand, kind="terms", version=2)
    late = browser.send(page, "register", email="eve@example.com", password=PASSWORD, consented="1")

    assert late.status_code == 400
    assert "not the texts that are in force" in seen(late)


def test_ids_of_texts_that_no_row_has_are_refused_and_fail_nowhere(browser, own, brand, texts):
    no_row, filled = "9" * 30, {"email": "ada@example.com", "password": PASSWORD, "consented": "1"}

    registered = browser.send(browser.get("/s/"), "register", **filled, legal_texts=no_row)
    agreed = own.send(own.get("/s/?account"), "agree", legal_texts=no_row)

    assert (registered.status_code, EmailConfirmation.objects.count()) == (400, 0)
    assert (agreed.status_code, Consent.objects.count()) == (303, 0)
    assert "Please read and agree" in seen(own.get("/s/?account"))


def test_a_text_of_tomorrow_stops_nobody_from_registering_today(browser, brand):
    factories.legal_text(brand, valid_from=timezone.now() + timedelta(days=1))
    page = browser.get("/s/")
    assert 'name="consented"' not in seen(page)

    browser.send(page, "register", email="ada@example.com", password=PASSWORD)

    assert EmailConfirmation.objects.get().legal_texts == []


def test_a_form_older_than_the_first_text_agrees_to_nothing(browser, brand):
    page = browser.get("/s/")
    factories.legal_text(brand)

    late = browser.send(page, "register", email="ada@example.com", password=PASSWORD, consented="1")

    assert (late.status_code, EmailConfirmation.objects.count()) == (400, 0)


def test_a_member_who_is_there_already_is_asked_once(own, brand, member, texts):
    page = own.get("/s/?account")
    assert "Please read and agree" in seen(page)

    own.send(page, "agree")

    assert Consent.objects.get().legal_texts == texts
    assert "Please read and agree" not in seen(own.get("/s/?account"))


def test_a_brand_without_texts_of_its_own_asks_the_api_for_none(browser, brand):
    browser.get("/s/")
    with CaptureQueriesContext(connection) as statements:
        browser.get("/s/")

    assert [each["sql"] for each in statements if "legaltext" in each["sql"]] == []


def test_a_customer_downloads_their_data(own, brand, member, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    page = own.get("/account")
    assert "Download my data" not in seen(page)

    own.send(page, "data")
    assert "Your file is being prepared." in seen(own.get("/account"))
    runner.run(Job.objects.get().pk)

    assert 'href="/page/data"' in seen(own.get("/account"))
    answer = own.get("/page/data")
    assert answer["Content-Disposition"] == 'attachment; filename="my-data.json"'
    assert member.email in answer.content.decode()
    assert answer.json()["success"] is True


def test_nobody_else_has_a_customers_data(browser):
    assert browser.get("/page/data")["Location"] == "/account"
