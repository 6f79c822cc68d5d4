"""The page of a brand that asks for a confirmed e-mail address, without scripts."""

import re

import pytest
from django.utils import timezone

from authcodes.models.scans import Scan
from brands.models.people import User
from brands.models.tenants import Brand
from loyalty.members import confirmations
from loyalty.models.members.confirmations import EmailConfirmation
from tests.scanpage.conftest import Browser, seen, state, text
from tests.support import factories
from tests.support.factories import PASSWORD

pytestmark = pytest.mark.django_db

WORDS = {
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


@pytest.mark.parametrize("language", WORDS)
def test_the_page_says_in_each_language_that_points_wait(member_browser, brand, language):
    member_browser.get(f"/s/?lang={language}")

    page = member_browser.scan(factories.code(brand))

    assert state(page) == "new"
    for expected_text in WORDS[language]:
        assert expected_text in seen(page)
    assert '<b data-number="points_awarded">10</b>' in seen(page)


def test_the_button_sends_the_mail_and_points_come_with_its_code(member_browser, brand, customer, deliver):
    page = member_browser.scan(factories.code(brand))
    deliver()

    sent = member_browser.send(page, "send_confirmation")
    again = member_browser.get(sent["Location"])
    assert (sent.status_code, EmailConfirmation.objects.count()) == (303, 1)
    assert "We have sent you an e-mail." in text(again)
    assert WORDS["en"][0] in text(again)

    code = confirmations.code_of(EmailConfirmation.objects.get().pk)
    confirmations.confirm(user=customer, brand_id=brand.pk, code=code, at=timezone.now())
    deliver()

    done = member_browser.get(re.sub("mail=sent&", "", sent["Location"]))
    assert '<b data-number="points_awarded">10</b>' in seen(done)
    assert Scan.objects.count() == 1


def test_who_has_confirmed_meanwhile_is_led_to_the_account(member_browser, brand, customer):
    page = member_browser.scan(factories.code(brand))
    User.objects.filter(pk=customer.pk).update(email_verified_at=timezone.now())

    assert member_browser.send(page, "send_confirmation")["Location"].endswith("?account")
    assert not EmailConfirmation.objects.exists()


def test_a_code_that_somebody_else_reserved_asks_for_the_address_not_for_a_login(member_browser, brand):
    code = factories.code(brand)
    Browser(brand).scan(code)

    page = member_browser.scan(code)

    assert state(page) == "reserved_for_other"
    assert "Somebody else has just checked it. Confirm your e-mail address" in text(page)
    assert "Send me the e-mail" in text(page)
    shown = seen(page).split("<template")[0]
    assert "earns no points" not in shown
    assert "Points waiting for you" not in shown


@pytest.mark.parametrize(
    ("outcome", "expected_text"), [("wait", "Too many attempts."), ("trouble", "That did not work.")]
)
def test_a_mail_that_could_not_be_sent_is_said(member_browser, outcome, expected_text):
    assert expected_text in text(member_browser.get(f"/s/?mail={outcome}"))


def test_other_words_in_the_address_are_not_shown(member_browser):
    assert "<i>" not in seen(member_browser.get("/s/?mail=<i>sent"))
