"""Referral codes: a new member gives one at registration or soon after, and no answer reveals its owner."""

from datetime import timedelta

import pytest
from django.test import override_settings
from django.utils import timezone

from brands.models.people import User
from brands.models.tenants import Brand
from loyalty.members import confirmations
from loyalty.models.accounts import UserPoints
from loyalty.models.members.confirmations import EmailConfirmation
from loyalty.models.programme.referrals import Referral, ReferralCode, ReferralProgramme
from loyalty.models.wallets import WalletDevice, WalletPass
from loyalty.notifications import preferences
from loyalty.referrals import codes, duplicates, find
from tests.loyalty.merges.conftest import merge_accounts
from tests.support import factories
from tests.support.referrals import code_of, programme, refer, referred_friend, scan, settle

pytestmark = pytest.mark.django_db
PASSWORD = "a long pass phrase"
NEW = {"email": "grace@example.org", "password": PASSWORD}


@pytest.fixture
def terms(brand):
    return programme(brand)


@pytest.fixture
def friend(brand, customer):
    return factories.customer(brand)


def error(response):
    return response.status_code, response.json()["error"]


def register(api, **fields):
    return api.app().post("auth/register", {**NEW, **fields})


def give_code(api, friend, code):
    return api.as_customer(friend).post("customer/loyalty/referral", {"code": code})


# --- The code


def test_code_of_a_member_is_permanent_and_random(api, brand, customer, terms):
    first, second = (api.as_customer(customer).get("customer/loyalty/referral").json()["data"] for _ in range(2))

    row = ReferralCode.objects.get()
    assert first == second
    assert first["code"] == f"{row.code[:4]}-{row.code[4:]}"
    assert first["link"].endswith(f"/s/?ref={row.code}")
    assert (first["referrer_points"], first["friend_points"], first["action"]) == (100, 50, "either")
    assert set(row.code) <= set(codes.ALPHABET)


def test_code_is_drawn_again_if_another_member_has_it(brand, customer, friend, monkeypatch):
    characters = iter("A" * 8 + "A" * 8 + "C" * 8)
    monkeypatch.setattr(codes.secrets, "choice", lambda _alphabet: next(characters))

    assert [code_of(member, brand) for member in (customer, friend)] == ["AAAAAAAA", "CCCCCCCC"]


def test_same_code_may_exist_at_two_brands(brand, customer, friend, terms, api):
    other = factories.brand()
    member = factories.customer(other)
    code = code_of(customer, brand)
    ReferralCode.objects.create(brand=other, account=factories.account(member, other), code=code)
    programme(other)

    assert give_code(api, friend, code).status_code == 201
    assert Referral.objects.get().referrer.user == customer


def test_no_code_without_an_active_programme_or_before_enrolment(api, brand, customer):
    assert api.as_customer(customer).get("customer/loyalty/referral").json() == {"success": True, "data": None}
    programme(brand, is_active=False)
    assert api.as_customer(customer).get("customer/loyalty/referral").json() == {"success": True, "data": None}
    not_enrolled = factories.customer(brand, enrolled=False)
    assert api.as_customer(not_enrolled).get("customer/loyalty/referral").json() == {"success": True, "data": None}
    assert not ReferralCode.objects.exists()


def test_member_can_read_how_many_friends_joined_but_not_who(api, brand, customer, terms):
    for number in range(3):
        friend, _referral = referred_friend(customer, brand)
        if number:
            scan(friend, brand)
    settle()

    response = api.as_customer(customer).get("customer/loyalty/referral")
    data = response.json()["data"]
    assert (data["waiting"], data["rewarded"], data["points_earned"]) == (1, 2, 200)
    assert friend.email not in response.content.decode()


@pytest.mark.parametrize("template", ["{0}", "{1}", " {1} ", "{2}"])
def test_code_is_accepted_with_any_case_and_spacing(api, brand, customer, friend, terms, template):
    code = code_of(customer, brand)
    text = template.format(code, codes.display(code), codes.display(code).lower().replace("-", " "))

    assert give_code(api, friend, text).status_code == 201


# --- At registration


@pytest.fixture(params=[True, False], ids=["confirmed by mail", "immediately"])
def confirms_email(request):
    with override_settings(REGISTRATION_CONFIRMS_EMAIL=request.param):
        yield request.param


def finish_registration(confirms_email):
    """Confirm the registration by the mailed code, if one was mailed."""
    if confirms_email:
        confirmation = EmailConfirmation.objects.get(user=None)
        confirmations.finish_registration(
            confirmation_id=confirmation.pk, code=confirmations.code_of(confirmation.pk), at=timezone.now()
        )


def test_friend_can_register_with_a_code(api, brand, customer, terms, confirms_email):
    response = register(api, referral_code=codes.display(code_of(customer, brand)))
    assert response.status_code == 201
    finish_registration(confirms_email)

    referral = Referral.objects.get()
    assert (referral.referrer.user, referral.friend.user.email, referral.state) == (customer, NEW["email"], "waiting")


def test_registration_with_an_unknown_code_is_rejected(api, brand, customer, terms, confirms_email):
    response = register(api, referral_code="AAAA-AAAA")

    assert error(response) == (404, "REFERRAL_CODE_UNKNOWN")
    assert response.json()["details"] == {"field": "referral_code"}
    assert not EmailConfirmation.objects.exists()
    assert not User.objects.filter(email=NEW["email"]).exists()


def test_registration_with_a_code_is_rejected_without_a_programme_or_auto_enrolment(
    api, brand, customer, confirms_email
):
    code = code_of(customer, brand)
    assert error(register(api, referral_code=code)) == (403, "REFERRALS_NOT_OFFERED")
    programme(brand)
    Brand.objects.filter(pk=brand.pk).update(auto_enroll=False)
    response = register(api, referral_code=code)
    assert list(response.json()["details"]["fields"]) == ["referral_code"]


def test_registration_with_an_empty_code_counts_as_without_a_code(api, brand, confirms_email):
    assert register(api, referral_code="").status_code == 201


def test_registration_with_the_code_of_another_brand_is_rejected(api, brand, terms, confirms_email):
    other = factories.brand()
    programme(other)
    code = code_of(factories.customer(other), other)

    assert error(register(api, referral_code=code)) == (404, "REFERRAL_CODE_UNKNOWN")


def test_registration_of_a_known_address_gets_the_same_response(api, brand, customer, friend, terms):
    code = code_of(customer, brand)
    known = register(api, email=friend.email, referral_code=code)
    unknown = register(api, referral_code=code)

    assert known.status_code == unknown.status_code == 201
    assert known.json().keys() == unknown.json().keys()
    assert not Referral.objects.exists()


def test_registration_succeeds_if_the_programme_ends_before_the_confirmation(api, brand, customer, terms):
    register(api, referral_code=code_of(customer, brand))
    ReferralProgramme.objects.update(is_active=False)
    finish_registration(True)

    assert User.objects.filter(email=NEW["email"]).exists()
    assert not Referral.objects.exists()


# --- After registration


def test_new_member_can_give_one_code_after_registration(api, brand, customer, friend, terms):
    code = code_of(customer, brand)
    first, second = (give_code(api, friend, code) for _ in range(2))

    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    assert first.json()["data"]["state"] == "waiting"
    other_code = code_of(factories.customer(brand), brand)
    assert error(give_code(api, friend, other_code)) == (409, "ALREADY_REFERRED")
    assert Referral.objects.count() == 1


@pytest.mark.parametrize("reason_id", ["CODE1", "order:A", "opening:old"])
def test_member_with_an_action_or_opening_balance_cannot_give_a_code(api, brand, customer, friend, terms, reason_id):
    factories.points(friend, brand, 10, reason_id=reason_id)

    assert error(give_code(api, friend, code_of(customer, brand))) == (409, "REFERRAL_TOO_LATE")


def test_member_with_login_or_welcome_points_can_give_a_code(api, brand, customer, friend, terms):
    factories.points(friend, brand, 10, reason_id="welcome:member")
    factories.points(friend, brand, 10, reason_id="login:2026-01-01")

    assert give_code(api, friend, code_of(customer, brand)).status_code == 201


@pytest.mark.parametrize(("days", "status"), [(13, 201), (15, 409)])
def test_code_can_be_given_only_within_the_days_after_enrolment(api, brand, customer, friend, terms, days, status):
    UserPoints.objects.filter(user=customer).update(enrolled_at=timezone.now() - timedelta(days=30))
    UserPoints.objects.filter(user=friend).update(enrolled_at=timezone.now() - timedelta(days=days))

    assert give_code(api, friend, code_of(customer, brand)).status_code == status


def test_code_of_a_member_who_joined_later_is_rejected(api, brand, customer, friend, terms):
    assert error(give_code(api, customer, code_of(friend, brand))) == (409, "REFERRAL_TOO_LATE")


def test_may_give_code_is_false_after_a_referral_or_an_action(api, brand, customer, friend, terms):
    def may_give_code(member):
        return api.as_customer(member).get("customer/loyalty/referral").json()["data"]["may_give_code"]

    assert may_give_code(friend) is True
    refer(customer, friend, brand)
    assert may_give_code(friend) is False
    scan(customer, brand)
    assert may_give_code(customer) is False


def test_merged_member_has_no_code_and_cannot_be_referred(api, brand, customer, friend, terms):
    code = code_of(customer, brand)
    merge_accounts(brand, factories.customer(brand), friend)

    assert error(api.as_customer(friend).get("customer/loyalty/referral")) == (403, "MEMBER_BLOCKED")
    assert error(give_code(api, friend, code)) == (403, "MEMBER_BLOCKED")
    assert not Referral.objects.exists()


def test_blocked_member_has_no_code_and_cannot_refer_friends(api, brand, customer, friend, terms):
    code = code_of(customer, brand)
    UserPoints.objects.filter(user=customer).update(status="blocked")

    assert error(give_code(api, friend, code)) == (404, "REFERRAL_CODE_UNKNOWN")
    assert error(api.as_customer(customer).get("customer/loyalty/referral")) == (403, "MEMBER_BLOCKED")


@override_settings(RATE_LIMITS={"referral_code": "3/hour", "referral_code_customer": "2/hour", "read": "9/minute"})
def test_guessing_codes_is_rate_limited(api, brand, customer, friend, terms):
    statuses = [error(give_code(api, friend, "AAAAAAAA"))[0] for _ in range(3)]

    assert statuses == [404, 404, 429]


# --- Duplicate accounts


def test_own_code_is_rejected(api, brand, customer, terms):
    response = give_code(api, customer, code_of(customer, brand))

    assert error(response) == (400, "VALIDATION_ERROR")
    assert list(response.json()["details"]["fields"]) == ["code"]


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("ada@gmail.com", "a.d.a+shop@googlemail.com", True),
        ("ada@gmail.com", "ada2@gmail.com", False),
        ("ada@outlook.com", "ada+1@outlook.com", True),
        ("ada@outlook.com", "a.da@outlook.com", False),
        ("ada@yahoo.de", "ada-shop@yahoo.de", True),
        ("ada@example.com", "ada+1@example.com", False),
        ("ADA@Example.com", "ada@example.com", True),
    ],
)
def test_aliases_of_a_mailbox_are_recognised(first, second, same):
    assert (duplicates.mailbox(first) == duplicates.mailbox(second)) is same


def test_rejected_alias_account_gets_the_same_response_as_any_other(api, brand, terms):
    member = factories.customer(brand, email="ada@gmail.com")
    alias = factories.customer(brand, email="a.da+2@gmail.com")
    other_customer = factories.customer(brand)
    code = code_of(member, brand)

    own, other = give_code(api, alias, code), give_code(api, other_customer, code)
    [first, second] = [{**response.json()["data"], "created_at": ""} for response in (own, other)]

    assert own.status_code == other.status_code == 201
    assert first == second
    assert list(Referral.objects.order_by("pk").values_list("state", "why")) == [("rejected", "email"), ("waiting", "")]
    data = api.as_customer(member).get("customer/loyalty/referral").json()["data"]
    assert (data["waiting"], data["rewarded"]) == (2, 0)


def test_same_phone_number_rejects_the_referral(brand, customer, friend, terms):
    for member in (customer, friend):
        preferences.change(member.pk, brand.pk, at=timezone.now(), phone="+4930123456")

    assert refer(customer, friend, brand).why == "phone"


def test_same_device_with_both_passes_rejects_the_referral(brand, customer, friend, terms):
    for member in (customer, friend):
        account = factories.account(member, brand)
        wallet_pass = WalletPass.objects.create(brand=brand, account=account, platform="apple", token="x")
        WalletDevice.objects.create(wallet_pass=wallet_pass, device="one phone", push_token="x")

    assert refer(customer, friend, brand).why == "device"


def test_failing_brand_does_not_delay_referrals_of_other_brands(brand, customer, monkeypatch, caplog):
    """The order of the brands is random, so each of them fails once."""
    other = factories.brand()
    for member_brand, member in ((brand, customer), (other, factories.customer(other))):
        programme(member_brand)
        friend, _referral = referred_friend(member, member_brand)
        scan(friend, member_brand)
    start = find._start

    for failing_brand in (brand, other):

        def start_or_fail(brand_id, *, failing_brand=failing_brand):
            if brand_id == failing_brand.pk:
                raise ArithmeticError
            return start(brand_id)

        monkeypatch.setattr(find, "_start", start_or_fail)
        assert find.publish_first_actions(at=timezone.now()) == 1
        assert f"referrals of the brand {failing_brand.slug} could not be looked through" in caplog.text
