"""The page of an invited friend, and the account that invites: by forms alone, and nothing that was typed is lost."""

import pytest

from loyalty.models.programme.referrals import Referral
from loyalty.points import birthdays
from tests.scanpage.conftest import customer_of, logged_in, seen
from tests.support import factories, referrals
from tests.support.factories import PASSWORD

pytestmark = pytest.mark.django_db


@pytest.fixture
def member(brand):
    return customer_of(brand)


@pytest.fixture
def terms(brand):
    return referrals.programme(brand)


@pytest.fixture
def code(brand, member):
    return referrals.code_of(member, brand)


def test_the_link_fills_the_code_in_and_the_friend_registers_with_it(browser, brand, member, terms, code, settings):
    settings.REGISTRATION_CONFIRMS_EMAIL = False
    page = browser.get(f"/s/?ref={code}")
    assert 'name="referral_code" maxlength="40"' in seen(page)
    assert f'value="{code}"' in seen(page)

    browser.send(page, "register", email="grace@example.org", password=PASSWORD, referral_code=code)

    referral = Referral.objects.get()
    assert (referral.referrer.user, referral.friend.user.email) == (member, "grace@example.org")


def test_without_a_link_nobody_is_asked_for_a_code(browser, brand, terms):
    assert "referral_code" not in seen(browser.get("/s/"))


def test_a_wrong_code_is_said_and_what_was_typed_stays(browser, brand, terms):
    page = browser.send(
        browser.get("/s/?ref=AAAAAAAA"),
        "register",
        email="grace@example.org",
        first_name="Grace",
        password=PASSWORD,
        referral_code="AAAA-AAAA",
    )

    assert page.status_code == 400
    assert "There is no such code." in seen(page)
    for typed in ("grace@example.org", "Grace", "AAAA-AAAA"):
        assert f'value="{typed}"' in seen(page)


def test_the_account_shows_code_link_and_friends_and_no_name(brand, member, terms, code):
    friend, _referral = referrals.referred(member, brand)
    page = seen(logged_in(brand, member).get("/s/?account"))

    assert f"{code[:4]}-{code[4:]}" in page
    assert f"/s/?ref={code}" in page
    assert friend.email not in page
    assert friend.first_name not in page or not friend.first_name


def test_without_a_programme_the_account_invites_nobody(brand, member):
    assert "Invite friends" not in seen(logged_in(brand, member).get("/s/?account"))


def test_a_friend_enters_the_code_in_the_account(brand, member, terms, code):
    friend = customer_of(brand)
    own = logged_in(brand, friend)

    wrong = own.send(own.get("/s/?account"), "refer", referral_code="AAAA-AAAA")
    assert "There is no such code." in seen(wrong)
    assert 'value="AAAA-AAAA"' in seen(wrong)
    page = own.send(wrong, "refer", referral_code=code)

    assert "code is noted" in seen(page)
    assert Referral.objects.get().friend.user == friend
    assert 'value="refer"' not in seen(page)


def test_a_birthday_is_entered_and_a_wrong_one_keeps_what_was_typed(brand, member):
    own = logged_in(brand, member)
    own.send(own.get("/account"), "profile", birthday_day="31", birthday_month="12")
    assert birthdays.read(member.pk, brand.pk) == "12-31"
    page = own.get("/account")
    assert '<option value="31" selected>' in seen(page)
    assert '<option value="12" selected>' in seen(page)

    wrong = own.send(page, "profile", birthday_day="31", birthday_month="4", first_name="Augusta")
    assert wrong.status_code == 400
    assert "Enter a day of the year" in seen(wrong)
    assert 'value="Augusta"' in seen(wrong)
    own.send(own.get("/account"), "profile", birthday_day="", birthday_month="")
    assert birthdays.read(member.pk, brand.pk) == ""


def test_a_customer_of_a_brand_without_enrolment_sees_no_code(brand, terms):
    stranger = factories.customer(brand, enrolled=False, password=PASSWORD)

    assert "Invite friends" not in seen(logged_in(brand, stranger).get("/s/?account"))
