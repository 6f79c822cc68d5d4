"""Password attempts are limited by network and by day, and never lock out a user's own devices."""

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
from tests.support.api import Api, error, random_address
from tests.support.factories import PASSWORD

pytestmark = pytest.mark.django_db
WRONG = "a wrong pass phrase"


@pytest.fixture
def email():
    return f"{random_address().replace(':', '')}@example.com"


def count_allowed(attempts, email, *, networks=lambda: "198.51.100.7", endpoint=PORTAL, device=""):
    """Return how many of the attempts are allowed."""
    passed = 0
    for _ in range(attempts):
        try:
            begin(endpoint=endpoint, email=email, network=networks(), device=device)
            passed += 1
        except RateLimited:
            pass
    return passed


def elapse(email, seconds, *, endpoints=("portal",)):
    """Bring every counter of the account closer to its end, as if that many seconds had passed."""
    client = redis_client.client()
    for key in client.scan_iter(match=f"{login_throttle._prefix(email)}*"):
        remaining_ms = client.pttl(key) - seconds * 1000
        client.pexpire(key, remaining_ms) if remaining_ms > 0 else client.delete(key)


def waits(email, network="198.51.100.7"):
    """Return the seconds to wait after each of the first attempts."""
    seconds_to_wait = []
    for _ in range(14):
        begin(endpoint=PORTAL, email=email, network=network)
        try:
            begin(endpoint=PORTAL, email=email, network=network)
            seconds_to_wait.append(0)
        except RateLimited as raised:
            seconds_to_wait.append(raised.retry_after)
            elapse(email, raised.retry_after + 1)
    return seconds_to_wait


def test_wait_doubles_with_each_attempt_of_a_network(email, settings):
    settings.LOGIN_TRIES_PER_DAY = 1_000
    all_waits = waits(email)

    later = [seconds for seconds in all_waits if seconds]
    assert later[:9] == [15, 30, 60, 120, 240, 480, 960, 1920, 3600]
    assert set(later[9:]) == {3600}


def test_one_network_has_at_most_50_attempts_a_day(email):
    """At ten a minute there would be 14,400."""
    passed, now = 0, 0
    while now < DAY_SECONDS:
        try:
            begin(endpoint=PORTAL, email=email, network="198.51.100.7")
            passed += 1
        except RateLimited as raised:
            step = min(raised.retry_after + 1, DAY_SECONDS - now)
            elapse(email, step)
            now += step

    assert 5 < passed <= 50


def test_ten_thousand_networks_have_50_attempts_a_day(email):
    assert count_allowed(10_000, email, networks=random_address) == 50


def test_parallel_attempts_are_limited_like_serial_ones(email, run_concurrently):
    outcomes = run_concurrently(24, lambda: begin(endpoint=PORTAL, email=email, network="198.51.100.7"))

    assert len([each for each in outcomes if not isinstance(each, Exception)]) == 5


def test_control_checking_before_counting_allows_more_attempts(email, run_concurrently):
    """Attempts that check the count first and increment it afterwards exceed the limit."""
    client, key = redis_client.client(), f"loyalty:tests:{email}"
    all_have_checked, passed = threading.Barrier(24), []

    def check_then_count():
        counted = int(client.get(key) or 0)
        all_have_checked.wait(timeout=30)
        if counted < 5:
            client.incr(key)
            passed.append(1)

    run_concurrently(24, check_then_count)

    assert len(passed) > 5


def test_known_device_can_log_in_while_others_guess(email):
    device = login_throttle.make_device(factories.user(email=email))
    count_allowed(60, email, networks=random_address)

    assert count_allowed(1, email, networks=random_address) == 0
    assert count_allowed(60, email, networks=random_address, device=device) == 5


def test_device_loses_its_exemption_with_a_new_password(email):
    """Users set a new password when somebody else had access to their account."""
    user = factories.user(email=email)
    device = login_throttle.make_device(user)
    staff.set_password(user=user, password="another pass phrase", at=timezone.now())
    count_allowed(60, email, networks=random_address)

    assert count_allowed(1, email, networks=random_address, device=device) == 0


def test_attempts_in_a_session_do_not_depend_on_those_of_others(email):
    count_allowed(60, email, networks=random_address)

    passed = 0
    for _time in range(9):
        try:
            begin(endpoint=PORTAL, email=email, network="198.51.100.7", session="one")
            passed += 1
        except RateLimited:
            pass
    assert passed == login_throttle.FREE_TRIES


@pytest.mark.parametrize("device", ["", "rubbish", "x" * 5_000, "a:b:c"])
def test_unknown_device_is_not_exempt(email, device):
    other = login_throttle.make_device(factories.user(email="somebody.else@example.com"))
    count_allowed(60, email, networks=random_address)

    assert count_allowed(1, email, networks=random_address, device=device or other) == 0


def test_endpoints_count_attempts_separately(email):
    count_allowed(60, email, networks=random_address, endpoint=login_throttle.at_brand(1))

    assert count_allowed(1, email, networks=random_address, endpoint=login_throttle.at_brand(2)) == 1
    assert count_allowed(1, email, networks=random_address, endpoint=PORTAL) == 1


def test_network_has_one_set_of_attempts_for_all_brands(email):
    endpoints = [login_throttle.at_brand(number) for number in range(1, 9)]

    assert sum(count_allowed(1, email, endpoint=endpoint) for endpoint in endpoints) == 5
    assert count_allowed(1, email, endpoint=endpoints[0], networks=random_address) == 1
    assert count_allowed(1, email, endpoint=PORTAL) == 1


def test_correct_password_releases_its_attempt(email):
    for _ in range(60):
        begin(endpoint=PORTAL, email=email, network="198.51.100.7").succeeded()

    assert count_allowed(5, email) == 5


# --- The customers' endpoint ------------------------------------------------------------------------------------------


def guess(brand, email, password=WRONG, *, address=None, **fields):
    api = Api(brand, address=address or random_address())
    return api.post("auth/token", {"email": email, "password": password, "brand_id": brand.pk, **fields})


@pytest.fixture
def shop(brand, settings):
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, "1000000/second")
    return brand


def test_flood_at_one_brand_locks_out_neither_known_devices_nor_other_brands(shop):
    customer = factories.customer(shop, password=PASSWORD)
    device = guess(shop, customer.email, PASSWORD).json()["device_token"]
    statuses = [guess(shop, customer.email).status_code for _ in range(55)]

    assert statuses == [401] * 50 + [429] * 5
    assert error(guess(shop, customer.email, PASSWORD)) == (429, "RATE_LIMITED")
    assert guess(shop, customer.email, PASSWORD, device_token=device).status_code == 200
    assert guess(factories.brand(), customer.email, PASSWORD).status_code == 200


def test_network_has_a_rate_limit_across_all_brands(shop, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "login_address": "3/minute"}
    network = f"10.{'.'.join(str(secrets.randbelow(256)) for _ in range(3))}"
    answers = [guess(factories.brand(), f"a{number}@example.com", address=network) for number in range(5)]

    assert [answer.status_code for answer in answers] == [401] * 3 + [429] * 2
    assert guess(shop, "a@example.com").status_code == 401


def test_rate_limit_across_brands_applies_to_passwords_of_erasures(shop, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "login_address": "2/minute"}
    network = f"10.{'.'.join(str(secrets.randbelow(256)) for _ in range(3))}"
    answers = []
    for _ in range(3):
        brand = factories.brand()
        customer_api = Api(brand, address=network).as_customer(factories.customer(brand, password=PASSWORD))
        answers.append(
            customer_api.call("DELETE", "customer", data=json.dumps({"password": WRONG}).encode()).status_code
        )

    assert answers == [403, 403, 429]


def test_failed_attempts_of_others_do_not_prevent_an_erasure(shop):
    customer = factories.customer(shop, password=PASSWORD)
    customer_api = Api(shop, address=random_address()).as_customer(customer)
    for _ in range(52):
        guess(shop, customer.email)

    answer = customer_api.call("DELETE", "customer", data=json.dumps({"password": PASSWORD}).encode())

    assert answer.status_code == 204


def test_customer_is_notified_of_a_flood_and_a_new_password_ends_it(shop):
    customer = factories.customer(shop, password=PASSWORD)
    for _ in range(52):
        guess(shop, customer.email)
    mails = Event.objects.filter(detail_type="account-mail", brand=shop)
    assert [mail.detail["arguments"]["user_id"] for mail in mails] == [customer.pk]

    staff.set_password(user=customer, password="another pass phrase", at=timezone.now())

    assert guess(shop, customer.email, "another pass phrase").status_code == 200


def test_unknown_brands_share_one_limit_of_attempts(shop):
    customer = factories.customer(shop, password=PASSWORD)
    codes = []
    for number in range(60):
        credentials = {"email": customer.email, "password": WRONG, "brand_id": 10**9 + number}
        codes.append(Api(shop).post("auth/token", credentials).status_code)

    assert codes.count(401) == 50


@pytest.mark.parametrize(
    ("fields", "role"), [({"is_staff": True}, ""), ({"is_superuser": True}, ""), ({}, "support")], ids=str
)
def test_staff_cannot_log_in_at_the_customers_endpoint(shop, fields, role):
    user = factories.customer(shop, password=PASSWORD, **fields)
    if role:
        StaffRole.objects.create(user=user, brand=shop, role=role)
    wrong, right = guess(shop, user.email), guess(shop, user.email, PASSWORD)

    bodies = [{name: part for name, part in answer.json().items() if name != "request_id"} for answer in (wrong, right)]
    assert (right.status_code, bodies[1]) == (401, bodies[0])


def test_attempts_at_the_customers_endpoint_do_not_affect_the_portal(shop):
    user = colleague(shop)
    for _ in range(60):
        guess(shop, user.email)

    assert portal(user.email, PASSWORD).status_code == 302


# --- The portal -------------------------------------------------------------------------------------------------------


def colleague(brand):
    user = factories.user(password=PASSWORD, is_staff=True)
    StaffRole.objects.create(user=user, brand=brand, role="manager")
    return user


def portal(email, password, client=None):
    client = client or Client(REMOTE_ADDR=random_address())
    return client.post("/admin/login/", {"username": email, "password": password, "next": "/admin/"})


def test_known_browser_logs_in_while_others_guess(shop):
    user, browser = colleague(shop), Client(REMOTE_ADDR=random_address())
    assert portal(user.email, PASSWORD, browser).status_code == 302
    browser.post("/admin/logout/")
    for _ in range(55):
        portal(user.email, WRONG)

    assert portal(user.email, PASSWORD).status_code == 200  # the login form again
    assert portal(user.email, PASSWORD, browser).status_code == 302


def test_logins_are_in_the_audit_log_and_a_flood_does_not_fill_it(shop):
    user, other = colleague(shop), factories.brand()
    portal(user.email, PASSWORD)
    for _ in range(60):
        portal(user.email, WRONG)
        portal("nobody@example.com", WRONG)
    entries = AuditLogEntry.objects.filter(kind="brands.user", row_id=str(user.pk))

    assert list(entries.order_by("id").values_list("action", flat=True)) == [
        "Logged in to the portal",
        *(f"Failed logins today: {number}" for number in (1, 5, 10, 20)),
        "Failed logins today: 50; new devices are blocked until tomorrow",
    ]
    assert {entry.brand for entry in AuditLogEntry.objects.all()} == {shop}
    assert not AuditLogEntry.objects.filter(brand=other).exists()


def test_logins_of_another_brands_customer_are_not_in_the_audit_log(shop):
    customer = factories.customer(factories.brand(), password=PASSWORD)
    for _ in range(6):
        guess(shop, customer.email)

    assert not AuditLogEntry.objects.exists()
    assert User.objects.get(pk=customer.pk).is_active
