"""Attempts stopped by limits: in the metrics for operators, and on the front page of the brand's owner alone."""

from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from brands.identity import guessing, login_throttle
from brands.identity.guessing import Exemptions, Guesser
from brands.models.quotas import StoppedAttempts
from brands.scanned import read
from brands.tenants import stopped_attempts
from core.errors import RateLimited
from core.observability import metrics
from core.redis import client
from tests.support import factories
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db
NO_EXEMPTIONS = Exemptions(has_good_tag=lambda: False, has_earned=lambda: False, is_established=lambda: False)


@pytest.fixture(autouse=True)
def low_limits(settings, brand):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "plain_codes": "2/hour"}
    yield
    for kind in stopped_attempts.KINDS:
        client.client().delete(stopped_attempts.key_of(kind, brand.pk, timezone.now()))
    client.client().delete(*client.client().keys("stopped:hour:*"), "none")


def metric_value(limit):
    return metrics.instruments().rejected.labels(limit)._value.get()


def try_codes(brand, number):
    """Try different codes as one new customer, and return how many were stopped."""
    guesser = Guesser(f"user:{factories.customer(brand).pk}", "192.0.2.77", brand.pk)
    stopped = 0
    for each in range(number):
        try:
            guessing.check(guesser, reading=read(f"ZZ{each:04}"), exemptions=NO_EXEMPTIONS, calls=None)
        except RateLimited:
            stopped += 1
    return stopped


def front_page(brand, role="owner"):
    return text(browser(staff(brand, role=role)).get(reverse("admin:index")))


def test_stopped_guesses_are_counted_by_the_limit_that_stopped_them(brand):
    before = metric_value("plain_codes")

    assert try_codes(brand, 5) == 3

    assert metric_value("plain_codes") == before + 3
    assert stopped_attempts.today([brand.pk]) == {(brand.pk, "codes"): 3}


def test_only_the_brands_owner_sees_its_stopped_attempts(brand):
    other = factories.brand()
    try_codes(brand, 5)
    warning = "3 code attempts were stopped today (UTC). Someone is trying more codes than customers normally do."

    assert warning in front_page(brand)
    assert "were stopped today" not in front_page(other)
    assert "were stopped today" not in front_page(brand, role="printer")


def test_front_page_has_no_warning_without_stopped_attempts(brand):
    try_codes(brand, 2)

    assert "were stopped today" not in front_page(brand)


def test_stopped_customer_logins_are_reported_from_twenty_on(brand):
    email, before = f"{factories.customer(brand).pk}@example.com", metric_value("login_wait")

    def stop(number):
        while number:
            try:
                login_throttle.begin(endpoint=login_throttle.at_brand(brand.pk), email=email, network="192.0.2.78")
            except RateLimited:
                number -= 1

    stop(19)
    assert "customer logins were stopped" not in front_page(brand)
    stop(1)
    assert "20 customer logins were stopped today (UTC). Someone is trying passwords." in front_page(brand)
    assert metric_value("login_wait") == before + 20


def test_stopped_calls_are_counted_in_the_metrics_only(brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "scan": "1/minute"}
    guesser, before = Guesser(f"user:{factories.customer(brand).pk}", "192.0.2.79", brand.pk), metric_value("scan")
    guessing.check(guesser, reading=None, exemptions=NO_EXEMPTIONS, calls="scan")

    with pytest.raises(RateLimited):
        guessing.check(guesser, reading=None, exemptions=NO_EXEMPTIONS, calls="scan")

    assert metric_value("scan") == before + 1
    assert stopped_attempts.today([brand.pk]) == {}


def test_without_redis_there_are_no_counts(brand, settings, monkeypatch, tmp_path):
    monkeypatch.setattr(client, "outage", client.OutageState())
    url, settings.REDIS_URL = settings.REDIS_URL, f"unix://{tmp_path}/nobody.sock"

    counts = stopped_attempts.today([brand.pk])

    settings.REDIS_URL = url
    monkeypatch.setattr(client, "outage", client.OutageState())
    assert counts == {}


LIST = address("brands.stoppedattempts")


def listed(brand, role="owner", **query):
    response = browser(staff(brand, role=role)).get(LIST, query)
    return response.status_code, [(row.kind, row.number) for row in response.context["cl"].result_list]


def stored(brand):
    return list(StoppedAttempts.objects.filter(brand=brand).values_list("kind", "number"))


def test_attempts_are_stored_by_the_hour_and_not_counted_twice(brand):
    try_codes(brand, 5)
    assert stopped_attempts.store(at=timezone.now()) == 1
    assert stopped_attempts.store(at=timezone.now()) == 0
    try_codes(brand, 4)
    stopped_attempts.store(at=timezone.now() + timedelta(hours=1))

    assert stored(brand) == [("codes", 5)]
    row = StoppedAttempts.objects.get(brand=brand)
    assert (row.hour.minute, row.hour.second) == (0, 0)
    assert listed(brand) == (200, [("codes", 5)])


def test_counts_lost_in_redis_do_not_reduce_the_stored_number(brand):
    try_codes(brand, 5)
    stopped_attempts.store(at=timezone.now())
    client.client().delete(stopped_attempts.key_of_hour(timezone.now()))
    try_codes(brand, 3)

    stopped_attempts.store(at=timezone.now())

    assert stored(brand) == [("codes", 3)]


def test_rows_are_purged_after_thirty_days(brand):
    now = timezone.now()
    for days in (29, 31):
        StoppedAttempts.objects.create(brand=brand, kind="logins", hour=now - timedelta(days=days), number=days)

    stopped_attempts.store(at=now)

    assert stored(brand) == [("logins", 29)]


def test_list_is_for_owners_and_managers_and_has_only_exact_filters(brand):
    other = factories.brand()
    now = timezone.now()
    for each, kind, number in [(brand, "codes", 3), (brand, "logins", 4), (other, "codes", 9)]:
        StoppedAttempts.objects.create(brand=each, kind=kind, hour=now, number=number)

    assert sorted(listed(brand)[1]) == sorted(listed(brand, "manager")[1]) == [("codes", 3), ("logins", 4)]
    assert listed(brand, kind__exact="logins")[1] == [("logins", 4)]
    for role in ("printer", "support"):
        assert browser(staff(brand, role=role)).get(LIST).status_code == 403
    for query in ({"brand__name__startswith": "x"}, {"number__gte": "1"}, {"brand__id__exact": str(other.pk)}):
        assert browser(staff(brand)).get(LIST, query).status_code in (302, 400)
    operator = factories.user(is_staff=True, is_superuser=True)
    assert browser(operator).get(LIST).context["cl"].result_count == 3


def test_empty_list_explains_its_purpose(brand):
    assert "The number of blocked attempts per hour appears here" in text(browser(staff(brand)).get(LIST))
