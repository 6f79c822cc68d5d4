"""Referrals without scripts: the page of an invited friend, and the account of the referrer."""

import pytest

from loyalty.models.programme.referrals import Referral
from loyalty.points import birthdays
from tests.scanpage.conftest import customer_with_password, logged_in_browser, visible_html
from tests.support import factories, referrals
from tests.support.factories import PASSWORD

pytestmark = pytest.mark.django_db


@pytest.fixture
def member(brand):
    return customer_with_password(brand)


@pytest.fixture
def programme(brand):
    return referrals.programme(brand)


@pytest.fixture
def code(brand, member):
    return referrals.code_of(member, brand)


def test_referral_link_prefills_the_code_and_registration_records_the_referral(
    browser, brand, member, programme, code, settings
):
    settings.REGISTRATION_CONFIRMS_EMAIL = False
    page = browser.get(f"/s/?ref={code}")
    assert 'name="referral_code" maxlength="40"' in visible_html(page)
    assert f'value="{code}"' in visible_html(page)

    browser.send(page, "register", email="grace@example.org", password=PASSWORD, referral_code=code)

    referral = Referral.objects.get()
    assert (referral.referrer.user, referral.friend.user.email) == (member, "grace@example.org")


def test_registration_without_a_referral_link_has_no_code_field(browser, brand, programme):
    assert "referral_code" not in visible_html(browser.get("/s/"))


def test_wrong_referral_code_is_reported_and_the_form_stays_filled_in(browser, brand, programme):
    page = browser.send(
        browser.get("/s/?ref=AAAAAAAA"),
        "register",
        email="grace@example.org",
        first_name="Grace",
        password=PASSWORD,
        referral_code="AAAA-AAAA",
    )

    assert page.status_code == 400
    assert "There is no such code." in visible_html(page)
    for entered_text in ("grace@example.org", "Grace", "AAAA-AAAA"):
        assert f'value="{entered_text}"' in visible_html(page)


def test_account_shows_referral_code_and_link_but_no_data_of_friends(brand, member, programme, code):
    friend, _referral = referrals.referred_friend(member, brand, first_name="Wilhelmina", last_name="Quistgaard")
    page = visible_html(logged_in_browser(brand, member).get("/s/?account"))

    assert f"{code[:4]}-{code[4:]}" in page
    assert f"/s/?ref={code}" in page
    for personal_data in (friend.email, friend.first_name, friend.last_name):
        assert personal_data
        assert personal_data not in page


def test_account_without_a_referral_programme_has_no_invitation(brand, member):
    assert "Invite friends" not in visible_html(logged_in_browser(brand, member).get("/s/?account"))


def test_friend_can_enter_a_referral_code_in_the_account(brand, member, programme, code):
    friend = customer_with_password(brand)
    friend_browser = logged_in_browser(brand, friend)

    error_page = friend_browser.send(friend_browser.get("/s/?account"), "refer", referral_code="AAAA-AAAA")
    assert "There is no such code." in visible_html(error_page)
    assert 'value="AAAA-AAAA"' in visible_html(error_page)
    page = friend_browser.send(error_page, "refer", referral_code=code)

    assert "code is noted" in visible_html(page)
    assert Referral.objects.get().friend.user == friend
    assert 'value="refer"' not in visible_html(page)


def test_birthday_can_be_saved_and_removed_and_an_invalid_one_is_rejected(brand, member):
    member_browser = logged_in_browser(brand, member)
    member_browser.send(member_browser.get("/account"), "profile", birthday_day="31", birthday_month="12")
    assert birthdays.read(member.pk, brand.pk) == "12-31"
    page = member_browser.get("/account")
    assert '<option value="31" selected>' in visible_html(page)
    assert '<option value="12" selected>' in visible_html(page)

    error_page = member_browser.send(page, "profile", birthday_day="31", birthday_month="4", first_name="Augusta")
    assert error_page.status_code == 400
    assert "Enter a day of the year" in visible_html(error_page)
    assert 'value="Augusta"' in visible_html(error_page)
    member_browser.send(member_browser.get("/account"), "profile", birthday_day="", birthday_month="")
    assert birthdays.read(member.pk, brand.pk) == ""


def test_customer_who_is_not_enrolled_has_no_invitation(brand, programme):
    customer = factories.customer(brand, enrolled=False, password=PASSWORD)

    assert "Invite friends" not in visible_html(logged_in_browser(brand, customer).get("/s/?account"))
