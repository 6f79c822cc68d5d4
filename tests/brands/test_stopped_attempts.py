"""What the limits stopped: in the figures for operators, and on the front page of the brand's owner alone."""

import pytest
from django.urls import reverse
from django.utils import timezone

from brands import guessing, limits, login_throttle, metrics, stopped_attempts
from brands.guessing import Exemptions, Guesser
from brands.refusals import RateLimited
from brands.scanned import read
from tests import make
from tests.portal import browser, staff, text

pytestmark = pytest.mark.django_db
NOBODY = Exemptions(has_good_tag=lambda: False, has_earned=lambda: False, is_established=lambda: False)


@pytest.fixture(autouse=True)
def few(settings, brand):
    settings.SECURE_SSL_REDIRECT = False
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "plain_codes": "2/hour"}
    yield
    for kind in stopped_attempts.KINDS:
        limits.client().delete(stopped_attempts.key_of(kind, brand.pk, timezone.now()))


def figure(limit):
    return metrics.instruments().refused.labels(limit)._value.get()


def try_codes(brand, number):
    """How many of so many different codes, by one new customer, were stopped."""
    guesser = Guesser(f"user:{make.customer(brand).pk}", "192.0.2.77", brand.pk)
    stopped = 0
    for each in range(number):
        try:
            guessing.check(guesser, reading=read(f"ZZ{each:04}"), exemptions=NOBODY, calls=None)
        except RateLimited:
            stopped += 1
    return stopped


def front_page(brand, role="owner"):
    return text(browser(staff(brand, role=role)).get(reverse("admin:index")))


def test_stopped_guesses_are_counted_by_the_limit_that_stopped_them(brand):
    before = figure("plain_codes")

    assert try_codes(brand, 5) == 3

    assert figure("plain_codes") == before + 3
    assert stopped_attempts.today([brand.pk]) == {(brand.pk, "codes"): 3}


def test_the_brands_owner_sees_them_and_nobody_elses(brand):
    other = make.brand()
    try_codes(brand, 5)
    words = "3 attempts at codes were stopped today (UTC). Somebody tries more different codes than customers do."

    assert words in front_page(brand)
    assert "were stopped today" not in front_page(other)
    assert "were stopped today" not in front_page(brand, role="printer")


def test_a_day_without_them_says_nothing(brand):
    try_codes(brand, 2)

    assert "were stopped today" not in front_page(brand)


def test_stopped_logins_of_customers_are_told_from_twenty_on(brand):
    email, before = f"{make.customer(brand).pk}@example.com", figure("login_wait")

    def stop(number):
        while number:
            try:
                login_throttle.begin(door=login_throttle.at_brand(brand.pk), email=email, network="192.0.2.78")
            except RateLimited:
                number -= 1

    stop(19)
    assert "logins of customers were stopped" not in front_page(brand)
    stop(1)
    assert "20 logins of customers were stopped today (UTC). Somebody tries passwords." in front_page(brand)
    assert figure("login_wait") == before + 20


def test_a_limit_of_calls_is_counted_for_operators_alone(brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "scan": "1/minute"}
    guesser, before = Guesser(f"user:{make.customer(brand).pk}", "192.0.2.79", brand.pk), figure("scan")
    guessing.check(guesser, reading=None, exemptions=NOBODY, calls="scan")

    with pytest.raises(RateLimited):
        guessing.check(guesser, reading=None, exemptions=NOBODY, calls="scan")

    assert figure("scan") == before + 1
    assert stopped_attempts.today([brand.pk]) == {}


def test_without_redis_nothing_is_shown(brand, settings, monkeypatch, tmp_path):
    monkeypatch.setattr(limits, "outage", limits.Outage())
    url, settings.REDIS_URL = settings.REDIS_URL, f"unix://{tmp_path}/nobody.sock"

    found = stopped_attempts.today([brand.pk])

    settings.REDIS_URL = url
    monkeypatch.setattr(limits, "outage", limits.Outage())
    assert found == {}
