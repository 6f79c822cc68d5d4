"""Confirming an e-mail address by a code or a link, and registrations that do not reveal known addresses."""

import re
from dataclasses import replace
from datetime import timedelta
from threading import Barrier
from time import perf_counter
from uuid import uuid4

import pytest
from django.db import connection
from django.db.models import Model, QuerySet
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from brands.identity import users
from brands.models.people import User
from events.models import Event
from loyalty.members import confirmations
from loyalty.models.accounts import UserPoints
from loyalty.models.members.confirmations import EmailConfirmation
from loyalty.points import accounts
from loyalty.points.accounts import NewMember
from tests.support import factories
from tests.support.api import Api, error, random_address
from tests.support.concurrency import run_concurrently
from tests.support.factories import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)
CODE = re.compile(r"^(\d{3} \d{3})\s*$", re.MULTILINE)
LINK = re.compile(r"http://\S+/(email|register)/confirm/(\S+)")
ADA = {"email": "ada.new@example.com", "password": "a long pass phrase", "first_name": "Ada"}


@pytest.fixture
def read_newest_mail(box, work):
    """Reads the code and the link's token of the newest mail; each is None if the mail has none."""

    def read():
        work()
        text = next(box.mails[-1].iter_parts()).get_content()
        code, link = CODE.search(text), LINK.search(text)
        return code and code.group(1), link and link.group(2)

    return read


def register(api, **fields):
    return api.post("auth/register", {**ADA, "brand_id": api.brand.pk, **fields})


def confirm(api, answer, code):
    payload = {"registration_id": answer.json()["registration_id"], "code": code}
    return api.post("auth/register/confirm", payload)


def different_code(code):
    return f"{(int(code.replace(' ', '')) + 1) % 10**6:06}"


def test_code_creates_the_account_and_logs_in(api, brand, read_newest_mail):
    answer = register(api)
    code, _token = read_newest_mail()
    assert not User.objects.filter(email=ADA["email"]).exists()

    tokens = confirm(api, answer, code)

    user = User.objects.get(email=ADA["email"])
    assert (answer.status_code, tokens.status_code) == (201, 201)
    assert answer.json()["user_id"] == tokens.json()["user_id"] == user.pk
    assert user.email_verified_at
    assert user.first_name == "Ada"
    assert UserPoints.objects.filter(user=user, brand=brand).exists()
    assert (
        api.with_headers(authorization=f"Bearer {tokens.json()['access']}").get("customer/profile").status_code == 200
    )
    assert api.post("auth/token", {**ADA, "brand_id": brand.pk}).status_code == 200
    assert error(confirm(api, answer, code)) == (400, "VALIDATION_ERROR")
    assert EmailConfirmation.objects.get().password == ""


def test_link_creates_the_account_only_with_its_password(api, read_newest_mail):
    register(api)
    _code, token = read_newest_mail()

    wrong_password = api.post("auth/register/confirm", {"token": token, "password": "something else here"})
    right_password = api.post("auth/register/confirm", {"token": token, "password": ADA["password"]})

    assert error(wrong_password) == (400, "VALIDATION_ERROR")
    assert right_password.status_code == 201


@pytest.fixture
def imported_elsewhere(settings):
    """A user whom another brand imported, and whose address is not confirmed yet."""
    other_brand = factories.brand(requires_confirmed_email=True)
    users.add_people(addresses=[ADA["email"]], at=timezone.now())
    accounts.enrol_many(
        brand_id=other_brand.pk, newcomers=[NewMember(ADA["email"], "", "Augusta", "King")], at=timezone.now()
    )
    return User.objects.get(email=ADA["email"])


def test_user_imported_by_another_brand_registers_like_a_new_customer(api, brand, read_newest_mail, imported_elsewhere):
    answer = register(api)
    code, _token = read_newest_mail()
    assert not User.objects.get().has_usable_password()

    tokens = confirm(api, answer, code)

    user = User.objects.get()
    assert (tokens.status_code, tokens.json()["user_id"], user.pk) == (201, user.pk, imported_elsewhere.pk)
    assert (user.registered_brand, user.first_name) == (brand, "Ada")
    assert user.email_verified_at == user.date_joined > imported_elsewhere.date_joined
    assert api.post("auth/token", {**ADA, "brand_id": brand.pk}).status_code == 200
    other_account, own_account = UserPoints.objects.filter(user=user).order_by("pk")
    other_account.user = own_account.user = user
    assert (own_account.brand, own_account.names) == (brand, ("Ada", ""))
    assert other_account.names == ("Ada", "King")  # as for any customer who changes their name


def test_registration_of_an_imported_user_releases_waiting_points(
    api, read_newest_mail, imported_elsewhere, monkeypatch
):
    released = []
    monkeypatch.setattr(confirmations, "release_points", lambda *, user_id: released.append(user_id))
    answer = register(api)

    confirm(api, answer, read_newest_mail()[0])

    assert released == [imported_elsewhere.pk]


def test_concurrent_registrations_at_two_brands_succeed_at_one(api, brand, read_newest_mail, imported_elsewhere):
    other_api = Api(factories.brand())
    registrations = [(each, register(each)) for each in (api, other_api)]
    read_newest_mail()
    codes = {row.brand_id: confirmations.code_of(row.pk) for row in EmailConfirmation.objects.all()}

    answers = run_concurrently(lambda pair: confirm(*pair, codes[pair[0].brand.pk]).status_code, registrations)

    assert sorted(answers) == [201, 400]
    assert User.objects.get().registered_brand_id in codes


def test_control_without_the_lock_both_brands_register_the_user(api, read_newest_mail, imported_elsewhere, monkeypatch):
    barrier = Barrier(2, timeout=10)
    monkeypatch.setattr(QuerySet, "select_for_update", lambda rows, **_how: rows)
    monkeypatch.setattr(User, "save", lambda user, **fields: (barrier.wait(), Model.save(user, **fields)))
    registrations = [(each, register(each)) for each in (api, Api(factories.brand()))]
    read_newest_mail()
    codes = {row.brand_id: confirmations.code_of(row.pk) for row in EmailConfirmation.objects.all()}

    answers = run_concurrently(lambda pair: confirm(*pair, codes[pair[0].brand.pk]).status_code, registrations)

    assert answers == [201, 201]


@pytest.mark.parametrize("fields", [{"password": "pbkdf2$1"}, {"is_staff": True}, {"is_active": False}], ids=str)
def test_registration_cannot_take_over_used_staff_or_inactive_accounts(
    api, read_newest_mail, box, imported_elsewhere, fields
):
    User.objects.update(**fields)
    answer = register(api)

    assert read_newest_mail()[0] is None  # "You have an account already"
    [row] = EmailConfirmation.objects.all()
    assert error(confirm(api, answer, confirmations.code_of(row.pk))) == (400, "VALIDATION_ERROR")
    assert not User.objects.get().registered_brand_id


def test_registration_does_not_reveal_known_addresses(api, brand, box, work):
    known_users = [
        factories.customer(brand),
        factories.customer(factories.brand()),
        factories.customer(brand, is_staff=True),
    ]
    answers = []
    for email in ["nobody@example.com", *(user.email for user in known_users)]:
        with CaptureQueriesContext(connection) as queries:
            answer = register(api, email=email)
        answers.append((answer.status_code, sorted(answer.json()), len(queries)))
    work()

    assert answers == [answers[0]] * 4
    assert [mail["Subject"] for mail in box.mails].count("You have an account already") == 3


def test_registration_takes_equally_long_for_a_known_address(api, brand):
    known_email, durations = factories.customer(brand).email, {True: [], False: []}
    register(api)
    for number in range(40):
        began = perf_counter()
        register(api, email=known_email if number % 2 else "nobody@example.com")
        durations[bool(number % 2)].append(perf_counter() - began)

    # The fastest calls are compared, as slower ones include the load of other processes.
    assert abs(min(durations[True]) - min(durations[False])) < 0.2 * min(durations[False])


def test_known_address_cannot_be_registered_by_a_guessed_code(api, brand, read_newest_mail):
    user = factories.customer(brand)
    answer = register(api, email=user.email)
    assert read_newest_mail() == (None, None)

    valid_code = confirmations.code_of(EmailConfirmation.objects.get().pk)

    assert error(confirm(api, answer, valid_code)) == (400, "VALIDATION_ERROR")
    assert User.objects.filter(email=user.email).count() == 1


@pytest.mark.parametrize("tries", [confirmations.TRIES - 1, confirmations.TRIES])
def test_registration_allows_a_limited_number_of_tries(api, read_newest_mail, tries):
    answer = register(api)
    code, _token = read_newest_mail()
    for _ in range(tries):
        assert error(confirm(api, answer, different_code(code))) == (400, "VALIDATION_ERROR")

    assert confirm(api, answer, code).status_code == (201 if tries < confirmations.TRIES else 400)


def test_code_expires_and_its_registration_is_purged(api, read_newest_mail):
    answer = register(api)
    code, _token = read_newest_mail()
    EmailConfirmation.objects.update(expires_at=timezone.now())

    assert error(confirm(api, answer, code)) == (400, "VALIDATION_ERROR")
    assert confirmations.purge_ended(at=timezone.now() + timedelta(days=2)) == 1


def test_registrations_of_one_address_have_separate_codes(api, read_newest_mail):
    """Otherwise an attacker who registers an address would get an account by its owner's code."""
    other_registration, own_registration = register(api), register(api, password="my own pass phrase")
    read_newest_mail()
    codes = [confirmations.code_of(row.pk) for row in EmailConfirmation.objects.order_by("created_at")]

    assert error(confirm(api, other_registration, codes[1])) == (400, "VALIDATION_ERROR")
    assert confirm(api, own_registration, codes[1]).status_code == 201
    assert User.objects.get(email=ADA["email"]).check_password("my own pass phrase")
    assert error(confirm(api, other_registration, codes[0])) == (400, "VALIDATION_ERROR")


@pytest.mark.django_db(transaction=True)
def test_concurrent_tries_do_not_exceed_the_limit(brand):
    registration = confirmations.begin_registration(
        email=ADA["email"], password=PASSWORD, brand=brand, at=timezone.now(), first_name=""
    )
    wrong = different_code(confirmations.code_of(registration.confirmation_id))

    def guess(_number):
        confirmations.finish_registration(confirmation_id=registration.confirmation_id, code=wrong, at=timezone.now())

    run_concurrently(guess, range(12))

    assert EmailConfirmation.objects.get().tries == confirmations.TRIES


def test_events_contain_no_code_token_or_address(api, read_newest_mail):
    register(api)
    code, token = read_newest_mail()

    stored = str(list(Event.objects.values_list("detail", "outcome", "last_error")))

    assert not [each for each in (code, code.replace(" ", ""), token, ADA["email"]) if each in stored]


def test_registration_mails_are_rate_limited(api, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "account_mail": "5/hour"}
    answers = [register(api).status_code for _ in range(6)]

    assert answers == [201] * 5 + [429]


def test_rate_limited_requests_for_an_address_do_not_affect_its_owner(api, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "account_mail_address": "2/day"}
    email = f"{uuid4().hex}@example.com"
    for number in range(3):
        other_caller = replace(api, address=random_address())
        codes = [register(other_caller, email=email).status_code for _ in range(3)]
        assert codes == [201, 201, 429], number

    assert register(api, email=email).status_code == 201
    customer_api = api.as_customer(factories.customer(api.brand, email=email))
    assert customer_api.post("auth/email/verification").status_code == 202


def test_mails_of_a_brand_to_one_mailbox_are_limited_silently(api, box, work, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "account_mail_mailbox": "2/hour"}
    email, other_brand = f"{uuid4().hex}@example.com", factories.brand()
    answers = [register(replace(api, address=random_address()), email=email).status_code for _ in range(4)]
    work()
    assert (answers, box.recipients) == ([201] * 4, [email] * 2)

    register(replace(api, brand=other_brand), email=email)
    work()

    assert box.recipients == [email] * 3


def test_customer_confirms_an_address_by_code(api, brand, read_newest_mail):
    user = factories.customer(brand)
    customer_api = api.as_customer(user)
    assert customer_api.post("auth/email/verification").json() == {"success": True, "email_verified_at": None}
    code, _token = read_newest_mail()

    wrong = customer_api.post("auth/email/verification/confirm", {"code": different_code(code)})
    other_customer_answer = api.as_customer(factories.customer(brand)).post(
        "auth/email/verification/confirm", {"code": code}
    )
    right = customer_api.post("auth/email/verification/confirm", {"code": code})

    assert error(wrong) == error(other_customer_answer) == (400, "VALIDATION_ERROR")
    assert right.json()["email_verified_at"]
    assert User.objects.get(pk=user.pk).email_verified_at


def test_customer_confirms_an_address_by_link_once(api, brand, read_newest_mail):
    user = factories.customer(brand)
    api.as_customer(user).post("auth/email/verification")
    _code, token = read_newest_mail()

    first, again = (api.post("auth/email/verification/confirm", {"token": token}) for _ in range(2))

    assert (first.status_code, again.status_code) == (200, 400)
    assert User.objects.get(pk=user.pk).email_verified_at


def test_link_confirms_only_the_address_it_was_sent_to(api, brand, read_newest_mail):
    user = factories.customer(brand)
    api.as_customer(user).post("auth/email/verification")
    _code, token = read_newest_mail()
    User.objects.filter(pk=user.pk).update(email="another@example.com")

    assert error(api.post("auth/email/verification/confirm", {"token": token})) == (400, "VALIDATION_ERROR")
    assert User.objects.get(pk=user.pk).email_verified_at is None


def test_confirming_by_code_requires_a_login(api):
    assert error(api.post("auth/email/verification/confirm", {"code": "123456"})) == (401, "AUTHENTICATION_REQUIRED")


@pytest.mark.parametrize("body", [{}, {"code": "1", "token": "x"}, {"code": 123456}, {"token": "x" * 501}, []], ids=str)
@pytest.mark.parametrize("path", ["auth/register/confirm", "auth/email/verification/confirm"])
def test_invalid_confirmation_bodies_are_rejected(api, path, body):
    assert error(api.post(path, body)) == (400, "VALIDATION_ERROR")
