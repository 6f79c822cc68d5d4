"""Giving a friend's code: at registration or soon after, once, by who is new; and no answer says whose it is."""

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
from tests.support import factories
from tests.support.referrals import code_of, programme, refer, referred, scan, settle

pytestmark = pytest.mark.django_db
PASSWORD = "a long pass phrase"
NEW = {"email": "grace@example.org", "password": PASSWORD}


@pytest.fixture
def terms(brand):
    return programme(brand)


@pytest.fixture
def friend(brand, customer):
    return factories.customer(brand)


def error(answer):
    return answer.status_code, answer.json()["error"]


def register(api, **fields):
    return api.app().post("auth/register", {**NEW, **fields})


def give(api, friend, code):
    return api.as_customer(friend).post("customer/loyalty/referral", {"code": code})


# --- The code


def test_a_member_s_code_stays_and_says_nothing_about_them(api, brand, customer, terms):
    first, second = (api.as_customer(customer).get("customer/loyalty/referral").json()["data"] for _ in range(2))

    row = ReferralCode.objects.get()
    assert first == second
    assert first["code"] == f"{row.code[:4]}-{row.code[4:]}"
    assert first["link"].endswith(f"/s/?ref={row.code}")
    assert (first["referrer_points"], first["friend_points"], first["action"]) == (100, 50, "either")
    assert set(row.code) <= set(codes.ALPHABET)


def test_codes_are_drawn_again_where_another_member_has_the_same(brand, customer, friend, monkeypatch):
    drawn = iter("A" * 8 + "A" * 8 + "C" * 8)
    monkeypatch.setattr(codes.secrets, "choice", lambda _signs: next(drawn))

    assert [code_of(each, brand) for each in (customer, friend)] == ["AAAAAAAA", "CCCCCCCC"]


def test_two_brands_may_have_the_same_code(brand, customer, friend, terms, api):
    other = factories.brand()
    member = factories.customer(other)
    code = code_of(customer, brand)
    ReferralCode.objects.create(brand=other, account=factories.account(member, other), code=code)
    programme(other)

    assert give(api, friend, code).status_code == 201
    assert Referral.objects.get().referrer.user == customer


def test_without_a_programme_there_is_no_code(api, brand, customer):
    assert api.as_customer(customer).get("customer/loyalty/referral").json() == {"success": True, "data": None}
    programme(brand, is_active=False)
    assert api.as_customer(customer).get("customer/loyalty/referral").json() == {"success": True, "data": None}
    stranger = factories.customer(brand, enrolled=False)
    assert api.as_customer(stranger).get("customer/loyalty/referral").json() == {"success": True, "data": None}
    assert not ReferralCode.objects.exists()


def test_the_member_reads_how_many_joined_and_not_who(api, brand, customer, terms):
    for number in range(3):
        friend, _referral = referred(customer, brand)
        if number:
            scan(friend, brand)
    settle()

    answer = api.as_customer(customer).get("customer/loyalty/referral")
    data = answer.json()["data"]
    assert (data["waiting"], data["rewarded"], data["points_earned"]) == (1, 2, 200)
    assert friend.email not in answer.content.decode()


@pytest.mark.parametrize("typed", ["{0}", "{1}", " {1} ", "{2}"])
def test_a_code_is_read_however_it_is_typed(api, brand, customer, friend, terms, typed):
    code = code_of(customer, brand)
    text = typed.format(code, codes.display(code), codes.display(code).lower().replace("-", " "))

    assert give(api, friend, text).status_code == 201


# --- At registration


@pytest.fixture(params=[True, False], ids=["confirmed by mail", "at once"])
def confirms(request):
    with override_settings(REGISTRATION_CONFIRMS_EMAIL=request.param):
        yield request.param


def finish(confirms):
    """The mailed code comes back, where one was mailed."""
    if confirms:
        made = EmailConfirmation.objects.get(user=None)
        confirmations.finish_registration(
            confirmation_id=made.pk, code=confirmations.code_of(made.pk), at=timezone.now()
        )


def test_a_friend_registers_with_a_code(api, brand, customer, terms, confirms):
    answer = register(api, referral_code=codes.display(code_of(customer, brand)))
    assert answer.status_code == 201
    finish(confirms)

    referral = Referral.objects.get()
    assert (referral.referrer.user, referral.friend.user.email, referral.state) == (customer, NEW["email"], "waiting")


def test_a_code_that_is_nobody_s_is_said_and_nothing_is_registered(api, brand, customer, terms, confirms):
    answer = register(api, referral_code="AAAA-AAAA")

    assert error(answer) == (404, "REFERRAL_CODE_UNKNOWN")
    assert answer.json()["details"] == {"field": "referral_code"}
    assert not EmailConfirmation.objects.exists()
    assert not User.objects.filter(email=NEW["email"]).exists()


def test_registering_with_a_code_where_none_counts_says_so(api, brand, customer, confirms):
    code = code_of(customer, brand)
    assert error(register(api, referral_code=code)) == (403, "REFERRALS_NOT_OFFERED")
    programme(brand)
    Brand.objects.filter(pk=brand.pk).update(auto_enroll=False)
    answer = register(api, referral_code=code)
    assert list(answer.json()["details"]["fields"]) == ["referral_code"]


def test_an_empty_code_is_none(api, brand, confirms):
    assert register(api, referral_code="").status_code == 201


def test_another_brand_s_code_is_nobody_s(api, brand, terms, confirms):
    other = factories.brand()
    programme(other)
    code = code_of(factories.customer(other), other)

    assert error(register(api, referral_code=code)) == (404, "REFERRAL_CODE_UNKNOWN")


def test_a_known_address_gets_the_same_answer(api, brand, customer, friend, terms):
    code = code_of(customer, brand)
    known = register(api, email=friend.email, referral_code=code)
    unknown = register(api, referral_code=code)

    assert known.status_code == unknown.status_code == 201
    assert known.json().keys() == unknown.json().keys()
    assert not Referral.objects.exists()


def test_a_programme_that_ends_before_the_address_is_confirmed_keeps_nobody_out(api, brand, customer, terms):
    register(api, referral_code=code_of(customer, brand))
    ReferralProgramme.objects.update(is_active=False)
    finish(True)

    assert User.objects.filter(email=NEW["email"]).exists()
    assert not Referral.objects.exists()


# --- Afterwards


def test_a_new_member_gives_a_code_afterwards_once(api, brand, customer, friend, terms):
    code = code_of(customer, brand)
    first, second = (give(api, friend, code) for _ in range(2))

    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    assert first.json()["data"]["state"] == "waiting"
    third = code_of(factories.customer(brand), brand)
    assert error(give(api, friend, third)) == (409, "ALREADY_REFERRED")
    assert Referral.objects.count() == 1


@pytest.mark.parametrize("reason_id", ["CODE1", "order:A", "opening:old"])
def test_who_has_acted_or_was_brought_along_is_not_new(api, brand, customer, friend, terms, reason_id):
    factories.points(friend, brand, 10, reason_id=reason_id)

    assert error(give(api, friend, code_of(customer, brand))) == (409, "REFERRAL_TOO_LATE")


def test_a_login_or_welcome_points_do_not_make_old(api, brand, customer, friend, terms):
    factories.points(friend, brand, 10, reason_id="welcome:member")
    factories.points(friend, brand, 10, reason_id="login:2026-01-01")

    assert give(api, friend, code_of(customer, brand)).status_code == 201


@pytest.mark.parametrize(("days", "answered"), [(13, 201), (15, 409)])
def test_the_days_after_joining_are_the_brand_s(api, brand, customer, friend, terms, days, answered):
    UserPoints.objects.filter(user=customer).update(enrolled_at=timezone.now() - timedelta(days=30))
    UserPoints.objects.filter(user=friend).update(enrolled_at=timezone.now() - timedelta(days=days))

    assert give(api, friend, code_of(customer, brand)).status_code == answered


def test_a_member_who_joined_later_brought_nobody(api, brand, customer, friend, terms):
    assert error(give(api, customer, code_of(friend, brand))) == (409, "REFERRAL_TOO_LATE")


def test_whether_a_code_can_still_be_given_is_said(api, brand, customer, friend, terms):
    def may(who):
        return api.as_customer(who).get("customer/loyalty/referral").json()["data"]["may_give_code"]

    assert may(friend) is True
    refer(customer, friend, brand)
    assert may(friend) is False
    scan(customer, brand)
    assert may(customer) is False


def test_blocked_members_refer_nobody_and_get_no_code(api, brand, customer, friend, terms):
    code = code_of(customer, brand)
    UserPoints.objects.filter(user=customer).update(status="blocked")

    assert error(give(api, friend, code)) == (404, "REFERRAL_CODE_UNKNOWN")
    assert error(api.as_customer(customer).get("customer/loyalty/referral")) == (403, "MEMBER_BLOCKED")


@override_settings(RATE_LIMITS={"referral_code": "3/hour", "referral_code_customer": "2/hour", "read": "9/minute"})
def test_codes_cannot_be_tried(api, brand, customer, friend, terms):
    answers = [error(give(api, friend, "AAAAAAAA"))[0] for _ in range(3)]

    assert answers == [404, 404, 429]


# --- One person


def test_one_s_own_code_is_refused(api, brand, customer, terms):
    answer = give(api, customer, code_of(customer, brand))

    assert error(answer) == (400, "VALIDATION_ERROR")
    assert list(answer.json()["details"]["fields"]) == ["code"]


@pytest.mark.parametrize(
    ("one", "another", "same"),
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
def test_a_mailbox_is_known_under_its_other_names(one, another, same):
    assert (duplicates.mailbox(one) == duplicates.mailbox(another)) is same


def test_a_second_account_of_one_mailbox_is_answered_like_any_other(api, brand, terms):
    member = factories.customer(brand, email="ada@gmail.com")
    alias = factories.customer(brand, email="a.da+2@gmail.com")
    stranger = factories.customer(brand)
    code = code_of(member, brand)

    own, other = give(api, alias, code), give(api, stranger, code)
    [first, second] = [{**each.json()["data"], "created_at": ""} for each in (own, other)]

    assert own.status_code == other.status_code == 201
    assert first == second
    assert list(Referral.objects.order_by("pk").values_list("state", "why")) == [("rejected", "email"), ("waiting", "")]
    data = api.as_customer(member).get("customer/loyalty/referral").json()["data"]
    assert (data["waiting"], data["rewarded"]) == (2, 0)


def test_one_phone_number_is_one_person(brand, customer, friend, terms):
    for each in (customer, friend):
        preferences.change(each.pk, brand.pk, at=timezone.now(), phone="+4930123456")

    assert refer(customer, friend, brand).why == "phone"


def test_one_phone_with_both_passes_is_one_person(brand, customer, friend, terms):
    for each in (customer, friend):
        account = factories.account(each, brand)
        held = WalletPass.objects.create(brand=brand, account=account, platform="apple", token="x")
        WalletDevice.objects.create(wallet_pass=held, device="one phone", push_token="x")

    assert refer(customer, friend, brand).why == "device"


def test_a_brand_at_which_it_fails_keeps_no_others_referrals_waiting(brand, customer, monkeypatch, caplog):
    """The brands come in any order, so each of them fails once."""
    other = factories.brand()
    for each, member in ((brand, customer), (other, factories.customer(other))):
        programme(each)
        friend, _referral = referred(member, each)
        scan(friend, each)
    start = find._start

    for broken in (brand, other):

        def failing(brand_id, *, broken=broken):
            if brand_id == broken.pk:
                raise ArithmeticError
            return start(brand_id)

        monkeypatch.setattr(find, "_start", failing)
        assert find.publish_first_actions(at=timezone.now()) == 1
        assert f"referrals of the brand {broken.slug} could not be looked through" in caplog.text
