"""Trying passwords: few from one network, few a day in all, and never a way to keep somebody out."""

import json
import secrets
import threading

import pytest
from django.test import Client
from django.utils import timezone

from brands.identity import login_throttle
from brands.identity.login_throttle import DAY_SECONDS, PORTAL, begin
from brands.models.audit import AuditLogEntry
from brands.models.people import StaffRole, User
from brands.staff_login import staff
from core.errors import RateLimited
from core.redis import client as redis_client
from events.models import Event
from tests.support import factories
from tests.support.api import Api, error, somewhere
from tests.support.factories import PASSWORD

pytestmark = pytest.mark.django_db
WRONG = "a wrong pass phrase"


@pytest.fixture
def email():
    return f"{somewhere().replace(':', '')}@example.com"


def tried(times, email, *, networks=lambda: "198.51.100.7", endpoint=PORTAL, device=""):
    """How many of so many tries were let through."""
    passed = 0
    for _ in range(times):
        try:
            begin(endpoint=endpoint, email=email, network=networks(), device=device)
            passed += 1
        except RateLimited:
            pass
    return passed


def elapse(email, seconds, *, endpoints=("portal",)):
    """As if that many seconds had passed: every counter of the account is nearer to its end."""
    client = redis_client.client()
    for key in client.scan_iter(match=f"{login_throttle._prefix(email)}*"):
        left = client.pttl(key) - seconds * 1000
        client.pexpire(key, left) if left > 0 else client.delete(key)


def waits(email, network="198.51.100.7"):
    """The seconds that follow on each try, of the first so many."""
    found = []
    for _ in range(14):
        begin(endpoint=PORTAL, email=email, network=network)
        try:
            begin(endpoint=PORTAL, email=email, network=network)
            found.append(0)
        except RateLimited as refusal:
            found.append(refusal.retry_after)
            elapse(email, refusal.retry_after + 1)
    return found


def test_each_try_of_a_network_waits_twice_as_long_as_the_one_before(email, settings):
    settings.LOGIN_TRIES_PER_DAY = 1_000
    found = waits(email)

    later = [seconds for seconds in found if seconds]
    assert later[:9] == [15, 30, 60, 120, 240, 480, 960, 1920, 3600]
    assert set(later[9:]) == {3600}


def test_a_day_of_guesses_from_one_network(email):
    """14,400 were possible: ten a minute."""
    passed, now = 0, 0
    while now < DAY_SECONDS:
        try:
            begin(endpoint=PORTAL, email=email, network="198.51.100.7")
            passed += 1
        except RateLimited as refusal:
            step = min(refusal.retry_after + 1, DAY_SECONDS - now)
            elapse(email, step)
            now += step

    assert 5 < passed <= 50


def test_a_day_of_guesses_from_ten_thousand_networks(email):
    assert tried(10_000, email, networks=somewhere) == 50


def test_parallel_tries_are_no_more_than_serial_ones(email, at_once):
    outcomes = at_once(24, lambda: begin(endpoint=PORTAL, email=email, network="198.51.100.7"))

    assert len([each for each in outcomes if not isinstance(each, Exception)]) == 5


def test_the_race_is_there_where_nobody_counts_before_looking(email, at_once):
    """The control: who asks first whether there are tries left, and counts afterwards, lets more through."""
    client, key = redis_client.client(), f"loyalty:tests:{email}"
    all_have_checked, passed = threading.Barrier(24), []

    def careless():
        counted = int(client.get(key) or 0)
        all_have_checked.wait(timeout=30)
        if counted < 5:
            client.incr(key)
            passed.append(1)

    at_once(24, careless)

    assert len(passed) > 5


def test_a_device_that_was_used_before_is_let_in_while_others_guess(email):
    device = login_throttle.make_device(factories.user(email=email))
    tried(60, email, networks=somewhere)

    assert tried(1, email, networks=somewhere) == 0
    assert tried(60, email, networks=somewhere, device=device) == 5


def test_a_device_of_before_a_new_password_is_like_any_other(email):
    """A new password is what people set when somebody else was in."""
    person = factories.user(email=email)
    device = login_throttle.make_device(person)
    staff.set_password(user=person, password="another pass phrase", at=timezone.now())
    tried(60, email, networks=somewhere)

    assert tried(1, email, networks=somewhere, device=device) == 0


def test_who_is_logged_in_is_asked_again_whatever_others_try(email):
    tried(60, email, networks=somewhere)

    passed = 0
    for _time in range(9):
        try:
            begin(endpoint=PORTAL, email=email, network="198.51.100.7", session="one")
            passed += 1
        except RateLimited:
            pass
    assert passed == login_throttle.FREE_TRIES


@pytest.mark.parametrize("device", ["", "rubbish", "x" * 5_000, "a:b:c"])
def test_no_other_device_is(email, device):
    other = login_throttle.make_device(factories.user(email="somebody.else@example.com"))
    tried(60, email, networks=somewhere)

    assert tried(1, email, networks=somewhere, device=device or other) == 0


def test_doors_count_for_themselves(email):
    tried(60, email, networks=somewhere, endpoint=login_throttle.at_brand(1))

    assert tried(1, email, networks=somewhere, endpoint=login_throttle.at_brand(2)) == 1
    assert tried(1, email, networks=somewhere, endpoint=PORTAL) == 1


def test_a_network_that_goes_from_brand_to_brand_has_one_set_of_tries(email):
    endpoints = [login_throttle.at_brand(number) for number in range(1, 9)]

    assert sum(tried(1, email, endpoint=endpoint) for endpoint in endpoints) == 5
    assert tried(1, email, endpoint=endpoints[0], networks=somewhere) == 1
    assert tried(1, email, endpoint=PORTAL) == 1


def test_a_right_password_takes_its_tries_back(email):
    for _ in range(60):
        begin(endpoint=PORTAL, email=email, network="198.51.100.7").succeeded()

    assert tried(5, email) == 5


# --- The customers' endpoint ------------------------------------------------------------------------------------------


def guess(brand, email, password=WRONG, *, address=None, **fields):
    api = Api(brand, address=address or somewhere())
    return api.post("auth/token", {"email": email, "password": password, "brand_id": brand.pk, **fields})


@pytest.fixture
def shop(brand, settings):
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, "1000000/second")
    return brand


def test_a_flood_at_one_brand_keeps_nobody_out(shop):
    customer = factories.customer(shop, password=PASSWORD)
    device = guess(shop, customer.email, PASSWORD).json()["device_token"]
    refused = [guess(shop, customer.email).status_code for _ in range(55)]

    assert refused == [401] * 50 + [429] * 5
    assert error(guess(shop, customer.email, PASSWORD)) == (429, "RATE_LIMITED")
    assert guess(shop, customer.email, PASSWORD, device_token=device).status_code == 200
    assert guess(factories.brand(), customer.email, PASSWORD).status_code == 200


def test_a_network_has_a_limit_over_all_brands(shop, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "login_address": "3/minute"}
    network = f"10.{'.'.join(str(secrets.randbelow(256)) for _ in range(3))}"
    answers = [guess(factories.brand(), f"a{number}@example.com", address=network) for number in range(5)]

    assert [answer.status_code for answer in answers] == [401] * 3 + [429] * 2
    assert guess(shop, "a@example.com").status_code == 401


def test_the_limit_over_all_brands_holds_for_the_password_of_an_erasure(shop, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "login_address": "2/minute"}
    network = f"10.{'.'.join(str(secrets.randbelow(256)) for _ in range(3))}"
    answers = []
    for _ in range(3):
        at = factories.brand()
        customer_api = Api(at, address=network).as_customer(factories.customer(at, password=PASSWORD))
        answers.append(
            customer_api.call("DELETE", "customer", data=json.dumps({"password": WRONG}).encode()).status_code
        )

    assert answers == [403, 403, 429]


def test_others_wrong_tries_keep_nobody_from_erasing_their_data(shop):
    customer = factories.customer(shop, password=PASSWORD)
    customer_api = Api(shop, address=somewhere()).as_customer(customer)
    for _ in range(52):
        guess(shop, customer.email)

    answer = customer_api.call("DELETE", "customer", data=json.dumps({"password": PASSWORD}).encode())

    assert answer.status_code == 204


def test_the_owner_hears_of_it_and_a_new_password_is_the_way_out(shop):
    customer = factories.customer(shop, password=PASSWORD)
    for _ in range(52):
        guess(shop, customer.email)
    mails = Event.objects.filter(detail_type="account-mail", brand=shop)
    assert [mail.detail["arguments"]["user_id"] for mail in mails] == [customer.pk]

    staff.set_password(user=customer, password="another pass phrase", at=timezone.now())

    assert guess(shop, customer.email, "another pass phrase").status_code == 200


def test_a_brand_that_does_not_exist_has_no_door_of_its_own(shop):
    customer = factories.customer(shop, password=PASSWORD)
    codes = []
    for number in range(60):
        given = {"email": customer.email, "password": WRONG, "brand_id": 10**9 + number}
        codes.append(Api(shop).post("auth/token", given).status_code)

    assert codes.count(401) == 50


@pytest.mark.parametrize("fields", [{"is_staff": True}, {"is_superuser": True}, {"role": "support"}], ids=str)
def test_staff_never_come_through_the_customers_door(shop, fields):
    role = fields.pop("role", None) if "role" in fields else None
    person = factories.customer(
        shop, password=PASSWORD, **{name: value for name, value in fields.items() if name != "role"}
    )
    if role:
        StaffRole.objects.create(user=person, brand=shop, role=role)
    wrong, right = guess(shop, person.email), guess(shop, person.email, PASSWORD)

    bodies = [{name: part for name, part in answer.json().items() if name != "request_id"} for answer in (wrong, right)]
    assert (right.status_code, bodies[1]) == (401, bodies[0])


def test_the_customers_door_never_touches_the_portals(shop):
    person = colleague(shop)
    for _ in range(60):
        guess(shop, person.email)

    assert portal(person.email, PASSWORD).status_code == 302


# --- The portal -------------------------------------------------------------------------------------------------------


def colleague(brand):
    person = factories.user(password=PASSWORD, is_staff=True)
    StaffRole.objects.create(user=person, brand=brand, role="manager")
    return person


def portal(email, password, client=None):
    client = client or Client(REMOTE_ADDR=somewhere())
    return client.post("/admin/login/", {"username": email, "password": password, "next": "/admin/"})


def test_a_known_browser_logs_in_while_others_guess(shop):
    person, browser = colleague(shop), Client(REMOTE_ADDR=somewhere())
    assert portal(person.email, PASSWORD, browser).status_code == 302
    browser.post("/admin/logout/")
    for _ in range(55):
        portal(person.email, WRONG)

    assert portal(person.email, PASSWORD).status_code == 200  # the form again
    assert portal(person.email, PASSWORD, browser).status_code == 302


def test_logins_are_in_the_trail_and_a_flood_does_not_fill_it(shop):
    person, other = colleague(shop), factories.brand()
    portal(person.email, PASSWORD)
    for _ in range(60):
        portal(person.email, WRONG)
        portal("nobody@example.com", WRONG)
    entries = AuditLogEntry.objects.filter(kind="brands.user", row_id=str(person.pk))

    assert list(entries.order_by("id").values_list("action", flat=True)) == [
        "Logged in to the portal",
        *(f"Failed logins today: {number}" for number in (1, 5, 10, 20)),
        "Failed logins today: 50; new devices are blocked until tomorrow",
    ]
    assert {entry.brand for entry in AuditLogEntry.objects.all()} == {shop}
    assert not AuditLogEntry.objects.filter(brand=other).exists()


def test_of_a_customer_of_another_brand_the_trail_tells_nothing(shop):
    customer = factories.customer(factories.brand(), password=PASSWORD)
    for _ in range(6):
        guess(shop, customer.email)

    assert not AuditLogEntry.objects.exists()
    assert User.objects.get(pk=customer.pk).is_active
