"""The page of a brand that requires a confirmed e-mail address, without scripts."""

import re

import pytest
from django.utils import timezone

from authcodes.models.scans import Scan
from brands.models.people import User
from brands.models.tenants import Brand
from loyalty.members import confirmations
from loyalty.models.members.confirmations import EmailConfirmation
from tests.scanpage.conftest import Browser, state, text, visible_html
from tests.support import factories
from tests.support.factories import PASSWORD

pytestmark = pytest.mark.django_db

EXPECTED_TEXTS = {
    "en": ("Confirm your e-mail address within 30 days to get your points", "Send me the e-mail"),
    "de": ("Bestätigen Sie innerhalb von 30 Tagen Ihre E-Mail-Adresse", "E-Mail zusenden"),
    "ar": ("أكّد عنوان بريدك الإلكتروني خلال 30 يومًا", "أرسل لي الرسالة"),
}


@pytest.fixture
def brand(brand):
    Brand.objects.filter(pk=brand.pk).update(requires_confirmed_email=True)
    brand.refresh_from_db()
    return brand


@pytest.fixture
def customer(brand):
    return factories.customer(brand, password=PASSWORD)


@pytest.fixture
def member_browser(brand, customer):
    browser = Browser(brand)
    browser.log_in(browser.get("/s/"), customer.email, PASSWORD)
    return browser


@pytest.mark.parametrize("language", EXPECTED_TEXTS)
def test_page_asks_for_confirmation_in_each_language(member_browser, brand, language):
    member_browser.get(f"/s/?lang={language}")

    page = member_browser.scan(factories.code(brand))

    assert state(page) == "new"
    for expected_text in EXPECTED_TEXTS[language]:
        assert expected_text in visible_html(page)
    assert '<b data-number="points_awarded">10</b>' in visible_html(page)


def test_button_sends_the_mail_and_its_code_releases_the_points(member_browser, brand, customer, deliver_events):
    page = member_browser.scan(factories.code(brand))
    deliver_events()

    send_response = member_browser.send(page, "send_confirmation")
    confirmation_page = member_browser.get(send_response["Location"])
    assert (send_response.status_code, EmailConfirmation.objects.count()) == (303, 1)
    assert "We have sent you an e-mail." in text(confirmation_page)
    assert EXPECTED_TEXTS["en"][0] in text(confirmation_page)

    code = confirmations.code_of(EmailConfirmation.objects.get().pk)
    confirmations.confirm(user=customer, brand_id=brand.pk, code=code, at=timezone.now())
    deliver_events()

    final_page = member_browser.get(re.sub("mail=sent&", "", send_response["Location"]))
    assert '<b data-number="points_awarded">10</b>' in visible_html(final_page)
    assert Scan.objects.count() == 1


def test_customer_confirmed_in_the_meantime_is_redirected_to_the_account(member_browser, brand, customer):
    page = member_browser.scan(factories.code(brand))
    User.objects.filter(pk=customer.pk).update(email_verified_at=timezone.now())

    assert member_browser.send(page, "send_confirmation")["Location"].endswith("?account")
    assert not EmailConfirmation.objects.exists()


def test_code_reserved_by_another_guest_asks_for_confirmation_not_for_a_login(member_browser, brand):
    code = factories.code(brand)
    Browser(brand).scan(code)

    page = member_browser.scan(code)

    assert state(page) == "reserved_for_other"
    assert "Somebody else has just checked it. Confirm your e-mail address" in text(page)
    assert "Send me the e-mail" in text(page)
    visible_part = visible_html(page).split("<template")[0]
    assert "earns no points" not in visible_part
    assert "Points waiting for you" not in visible_part


@pytest.mark.parametrize(
    ("outcome", "expected_text"), [("wait", "Too many attempts."), ("trouble", "That did not work.")]
)
def test_mail_that_could_not_be_sent_is_reported(member_browser, outcome, expected_text):
    assert expected_text in text(member_browser.get(f"/s/?mail={outcome}"))


def test_unknown_outcome_in_the_url_is_not_displayed(member_browser):
    assert "<i>" not in visible_html(member_browser.get("/s/?mail=<i>sent"))
