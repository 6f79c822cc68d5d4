"""Birthday points: once a year on the brand's day, whoever changes what, and never for a birthday that is set today."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.utils import timezone

from brands.models.tenants import Brand
from campaigns.accrual import birthdays
from events import worker
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.notifications import Notification, NotificationSettings
from loyalty.points import birthdays as stored
from loyalty.points import consistency
from loyalty.points.birthdays import MonthDay
from loyalty.points.explanations import texts_of
from loyalty.programme import movements
from tests.campaigns.earning.earning_rules import rule
from tests.support import factories
from tests.support.concurrency import at_once

pytestmark = pytest.mark.django_db
ZONE = ZoneInfo("Europe/Berlin")


def rewarded(brand, value=50, *, since=timedelta(days=800), **fields):
    """A rule for birthdays that has been in force for long."""
    started = timezone.now() - since
    return rule(brand, "member-birthday", value, "points", name="Birthday", state_changed_at=started, **fields)


def born(customer, brand, day, *, days_ago=100):
    """`day` as a date or a text; known to the brand for so many days."""
    month_day = f"{day:%m-%d}" if isinstance(day, date) else day
    stored.change(customer.pk, brand.pk, text=month_day, at=timezone.now() - timedelta(days=days_ago))


def celebrate(at=None):
    published = birthdays.publish_birthdays(at=at or timezone.now())
    worker.drain()
    return published


def noon(year, month, day):
    return datetime(year, month, day, 12, tzinfo=ZONE)


def earned():
    return sorted(LoyaltyTransaction.objects.values_list("reason_id", "points_earned"))


def contradictions():
    with connection.cursor() as cursor:
        result = []
        for name, statement in consistency.CHECKS.items():
            cursor.execute(statement)
            result += [(name, row[0]) for row in cursor.fetchall()]
    return result


@pytest.fixture
def brand(brand):
    Brand.objects.filter(pk=brand.pk).update(time_zone="Europe/Berlin")
    brand.refresh_from_db()
    return brand


@pytest.fixture
def today():
    return timezone.now().astimezone(ZONE).date()


def test_a_member_gets_birthday_points_once(brand, customer, today):
    rewarded(brand)
    born(customer, brand, today)

    assert [celebrate(), celebrate()] == [1, 0]
    assert earned() == [(f"birthday:{today.year}", 50)]
    line = LoyaltyTransaction.objects.get()
    assert (line.note, texts_of(line.details, "en")) == ("Points for your birthday", ["Birthday: 50"])
    assert contradictions() == []


def test_the_member_hears_of_them_as_of_any_points(brand, customer, today):
    NotificationSettings.objects.create(brand=brand)
    rewarded(brand)
    born(customer, brand, today)

    celebrate()
    worker.drain(lane="notices")

    notification = Notification.objects.get(template="NOTIFY_CAMPAIGN_SUCCESS")
    assert (notification.user, notification.payload["note"]) == (customer, "Points for your birthday")


def test_whoever_changes_the_birthday_is_not_paid_twice_in_a_year(brand, customer, today):
    Brand.objects.update(birthday_lead_days=0)
    rewarded(brand)
    born(customer, brand, today)
    celebrate()
    born(customer, brand, today + timedelta(days=1), days_ago=0)

    at = noon(today.year, today.month, today.day) + timedelta(days=1)
    assert celebrate(at) == (1 if at.year > today.year else 0)
    assert len(earned()) == (2 if at.year > today.year else 1)


def test_an_event_that_is_no_longer_kept_is_not_published_again(brand, customer, today):
    rewarded(brand)
    born(customer, brand, today)
    celebrate()
    Event.objects.filter(detail_type="member-birthday").delete()  # as retention does

    assert celebrate() == 0


@pytest.mark.parametrize(("days_ago", "lead", "paid"), [(0, 30, 0), (29, 30, 0), (31, 30, 1), (0, 0, 1), (3, 7, 0)])
def test_a_birthday_that_is_set_too_late_counts_from_the_next_year(brand, customer, today, days_ago, lead, paid):
    Brand.objects.update(birthday_lead_days=lead)
    rewarded(brand)
    born(customer, brand, today, days_ago=days_ago)

    assert celebrate() == paid


def test_set_today_pays_next_year(brand, customer):
    rewarded(brand)
    stored.change(customer.pk, brand.pk, text="06-15", at=noon(2026, 6, 15))

    UserPoints.objects.update(enrolled_at=noon(2026, 1, 1))
    brand.earning_rules.update(state_changed_at=noon(2025, 1, 1))
    assert birthdays.publish_birthdays(at=noon(2026, 6, 15)) == 0
    assert birthdays.publish_birthdays(at=noon(2027, 6, 15)) == 1


def test_the_same_day_again_does_not_begin_the_wait_again(brand, customer, today):
    rewarded(brand)
    born(customer, brand, today)
    born(customer, brand, today, days_ago=0)

    assert celebrate() == 1


@pytest.mark.parametrize(("year", "day", "paid"), [(2026, 28, 1), (2026, 27, 0), (2028, 28, 0), (2028, 29, 1)], ids=str)
def test_29_february_is_the_28th_in_other_years(brand, customer, year, day, paid):
    rewarded(brand)
    brand.earning_rules.update(state_changed_at=noon(2025, 1, 1))
    UserPoints.objects.update(enrolled_at=noon(2025, 1, 1))
    stored.change(customer.pk, brand.pk, text="02-29", at=noon(2025, 1, 1))

    assert birthdays.publish_birthdays(at=noon(year, 2, day)) == paid


def test_the_day_is_the_brand_s(brand, customer):
    rewarded(brand)
    brand.earning_rules.update(state_changed_at=noon(2025, 1, 1))
    UserPoints.objects.update(enrolled_at=noon(2025, 1, 1))
    stored.change(customer.pk, brand.pk, text="06-15", at=noon(2025, 1, 1))

    assert birthdays.publish_birthdays(at=datetime(2026, 6, 14, 21, 59, tzinfo=UTC)) == 0
    assert birthdays.publish_birthdays(at=datetime(2026, 6, 14, 22, 1, tzinfo=UTC)) == 1


def test_a_beat_that_stood_still_over_new_year_pays_the_old_year_s(brand, customer):
    rewarded(brand)
    brand.earning_rules.update(state_changed_at=noon(2025, 1, 1))
    UserPoints.objects.update(enrolled_at=noon(2025, 1, 1))
    stored.change(customer.pk, brand.pk, text="12-31", at=noon(2025, 1, 1))

    assert celebrate(noon(2027, 1, 2)) == 1
    assert earned() == [("birthday:2026", 50)]
    assert celebrate(noon(2027, 1, 4)) == 0


def test_in_the_birthday_s_month_points_come_on_its_first_day(brand, customer):
    Brand.objects.update(birthday_points="month")
    rewarded(brand)
    brand.earning_rules.update(state_changed_at=noon(2025, 1, 1))
    UserPoints.objects.update(enrolled_at=noon(2025, 1, 1))
    stored.change(customer.pk, brand.pk, text="06-15", at=noon(2025, 1, 1))

    assert birthdays.publish_birthdays(at=noon(2026, 5, 31)) == 0
    assert birthdays.publish_birthdays(at=noon(2026, 6, 1)) == 1
    assert birthdays.publish_birthdays(at=noon(2026, 6, 15)) == 0


def test_without_a_rule_nobody_gets_any(brand, customer, today):
    born(customer, brand, today)
    assert celebrate() == 0
    rewarded(brand, state="draft")
    assert celebrate() == 0


def test_a_rule_pays_for_no_day_before_it(brand, customer, today):
    rewarded(brand, since=timedelta(0))
    born(customer, brand, today - timedelta(days=1))

    assert celebrate() == 0


def test_a_programme_that_is_switched_off_pays_nobody(brand, customer, today):
    rewarded(brand)
    born(customer, brand, today)
    Brand.objects.update(loyalty_active=False)

    assert celebrate() == 0


def test_another_brand_s_birthdays_are_not_paid(brand, customer, today):
    other = factories.brand()
    rewarded(other)
    born(customer, brand, today)

    assert celebrate() == 0


def test_a_blocked_member_gets_none(brand, customer, today):
    rewarded(brand)
    born(customer, brand, today)
    UserPoints.objects.update(status="blocked")

    assert celebrate() == 0


def test_many_born_on_one_day_are_paid_little_by_little(brand, monkeypatch, today):
    monkeypatch.setattr(birthdays, "CHUNK", 2)
    monkeypatch.setattr(birthdays, "MAX_PUBLISHED", 3)
    rewarded(brand)
    for _number in range(6):
        born(factories.customer(brand), brand, today)

    assert [celebrate() for _call in range(3)] == [4, 2, 0]
    assert len(earned()) == 6


def test_a_birthday_makes_nobody_active(brand, customer, today):
    rewarded(brand)
    born(customer, brand, today)
    celebrate()

    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {movements.case_sql()}, {movements.activity_sql()} FROM loyalty_transaction t")
        assert cursor.fetchall() == [("earned", False)]


@pytest.mark.parametrize(
    ("text", "result"),
    [("12-31", MonthDay(12, 31)), ("1990-02-29", MonthDay(2, 29)), ("--05-01", MonthDay(5, 1)), ("", None)],
)
def test_a_birthday_is_read_without_its_year(text, result):
    assert stored.parsed(text) == result


@pytest.mark.parametrize("text", ["02-30", "13-01", "00-10", "31.12.", "1-1", "04-31", "x", "٠١-٠١"])
def test_what_is_no_day_is_refused(text):
    with pytest.raises(stored.Invalid) as refused:
        stored.parsed(text)
    assert list(refused.value.details["fields"]) == ["birthday"]


@pytest.mark.django_db(transaction=True)
def test_beats_at_once_publish_each_event_once():
    brand = factories.brand()
    customers = [factories.customer(brand) for _ in range(5)]
    rewarded(brand)
    for each in customers:
        born(each, brand, timezone.now().date())

    published = at_once(lambda _n: birthdays.publish_birthdays(at=timezone.now()), range(4), threads=4)
    worker.drain()

    assert sum(published) == Event.objects.filter(detail_type="member-birthday").count() == len(customers)
    assert len(earned()) == len(customers)


def test_a_brand_at_which_it_fails_keeps_no_others_members_waiting(brand, customer, today, monkeypatch, caplog):
    """The brands come in any order, so each of them fails once."""
    other = factories.brand(time_zone=str(ZONE))
    for each, member in ((brand, customer), (other, factories.customer(other))):
        rewarded(each)
        born(member, each, today)
    portions = birthdays._portions

    for broken in (brand, other):

        def failing(brand, day, at, *, broken=broken):
            if brand == broken:
                raise ArithmeticError
            return portions(brand, day, at)

        monkeypatch.setattr(birthdays, "_portions", failing)
        assert birthdays.publish_birthdays(at=timezone.now()) == 1
        assert f"birthdays at the brand {broken.slug} could not be celebrated" in caplog.text
