"""Birthday points: once a year on the brand's local day, even when the member changes the birthday in between."""

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
from loyalty.points import birthdays as stored_birthdays
from loyalty.points import consistency
from loyalty.points.birthdays import MonthDay
from loyalty.points.explanations import texts_of
from loyalty.programme import movements
from tests.campaigns.earning.earning_rules import rule
from tests.support import factories
from tests.support.concurrency import run_concurrently

pytestmark = pytest.mark.django_db
ZONE = ZoneInfo("Europe/Berlin")


def birthday_rule(brand, value=50, *, since=timedelta(days=800), **fields):
    """An earning rule for birthdays that has long been in force."""
    started = timezone.now() - since
    return rule(brand, "member-birthday", value, "points", name="Birthday", state_changed_at=started, **fields)


def set_birthday(customer, brand, day, *, days_ago=100):
    """Set the birthday to `day`, a date or a text, as entered `days_ago` days ago."""
    month_day = f"{day:%m-%d}" if isinstance(day, date) else day
    stored_birthdays.change(customer.pk, brand.pk, text=month_day, at=timezone.now() - timedelta(days=days_ago))


def publish_and_credit(at=None):
    published = birthdays.publish_birthdays(at=at or timezone.now())
    worker.drain()
    return published


def noon(year, month, day):
    return datetime(year, month, day, 12, tzinfo=ZONE)


def earned():
    return sorted(LoyaltyTransaction.objects.values_list("reason_id", "points_earned"))


def inconsistencies():
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
    birthday_rule(brand)
    set_birthday(customer, brand, today)

    assert [publish_and_credit(), publish_and_credit()] == [1, 0]
    assert earned() == [(f"birthday:{today.year}", 50)]
    entry = LoyaltyTransaction.objects.get()
    assert (entry.note, texts_of(entry.details, "en")) == ("Points for your birthday", ["Birthday: 50"])
    assert inconsistencies() == []


def test_birthday_points_notify_the_member(brand, customer, today):
    NotificationSettings.objects.create(brand=brand)
    birthday_rule(brand)
    set_birthday(customer, brand, today)

    publish_and_credit()
    worker.drain(lane="notices")

    notification = Notification.objects.get(template="NOTIFY_CAMPAIGN_SUCCESS")
    assert (notification.user, notification.payload["note"]) == (customer, "Points for your birthday")


def test_changed_birthday_is_not_rewarded_twice_in_a_year(brand, customer, today):
    Brand.objects.update(birthday_lead_days=0)
    birthday_rule(brand)
    set_birthday(customer, brand, today)
    publish_and_credit()
    set_birthday(customer, brand, today + timedelta(days=1), days_ago=0)

    at = noon(today.year, today.month, today.day) + timedelta(days=1)
    assert publish_and_credit(at) == (1 if at.year > today.year else 0)
    assert len(earned()) == (2 if at.year > today.year else 1)


def test_purged_birthday_event_is_not_published_again(brand, customer, today):
    birthday_rule(brand)
    set_birthday(customer, brand, today)
    publish_and_credit()
    Event.objects.filter(detail_type="member-birthday").delete()  # as retention does

    assert publish_and_credit() == 0


@pytest.mark.parametrize(("days_ago", "lead", "paid"), [(0, 30, 0), (29, 30, 0), (31, 30, 1), (0, 0, 1), (3, 7, 0)])
def test_birthday_is_rewarded_only_after_its_lead_days(brand, customer, today, days_ago, lead, paid):
    Brand.objects.update(birthday_lead_days=lead)
    birthday_rule(brand)
    set_birthday(customer, brand, today, days_ago=days_ago)

    assert publish_and_credit() == paid


def test_birthday_while_the_rule_was_paused_earns_nothing(brand, customer, today):
    birthday_rule(brand, since=timedelta(0), starts_at=timezone.now() - timedelta(days=90))
    set_birthday(customer, brand, today - timedelta(days=1))

    assert publish_and_credit() == 0


def test_birthday_set_today_is_rewarded_next_year(brand, customer):
    birthday_rule(brand)
    stored_birthdays.change(customer.pk, brand.pk, text="06-15", at=noon(2026, 6, 15))

    UserPoints.objects.update(enrolled_at=noon(2026, 1, 1))
    brand.earning_rules.update(state_changed_at=noon(2025, 1, 1))
    assert birthdays.publish_birthdays(at=noon(2026, 6, 15)) == 0
    assert birthdays.publish_birthdays(at=noon(2027, 6, 15)) == 1


def test_entering_the_same_birthday_again_does_not_restart_the_lead_time(brand, customer, today):
    birthday_rule(brand)
    set_birthday(customer, brand, today)
    set_birthday(customer, brand, today, days_ago=0)

    assert publish_and_credit() == 1


@pytest.mark.parametrize(("year", "day", "paid"), [(2026, 28, 1), (2026, 27, 0), (2028, 28, 0), (2028, 29, 1)], ids=str)
def test_29_february_is_celebrated_on_the_28th_outside_leap_years(brand, customer, year, day, paid):
    birthday_rule(brand)
    brand.earning_rules.update(state_changed_at=noon(2025, 1, 1))
    UserPoints.objects.update(enrolled_at=noon(2025, 1, 1))
    stored_birthdays.change(customer.pk, brand.pk, text="02-29", at=noon(2025, 1, 1))

    assert birthdays.publish_birthdays(at=noon(year, 2, day)) == paid


def test_birthday_follows_the_time_zone_of_the_brand(brand, customer):
    birthday_rule(brand)
    brand.earning_rules.update(state_changed_at=noon(2025, 1, 1))
    UserPoints.objects.update(enrolled_at=noon(2025, 1, 1))
    stored_birthdays.change(customer.pk, brand.pk, text="06-15", at=noon(2025, 1, 1))

    assert birthdays.publish_birthdays(at=datetime(2026, 6, 14, 21, 59, tzinfo=UTC)) == 0
    assert birthdays.publish_birthdays(at=datetime(2026, 6, 14, 22, 1, tzinfo=UTC)) == 1


def test_scheduler_stopped_over_new_year_still_pays_for_the_old_year(brand, customer):
    birthday_rule(brand)
    brand.earning_rules.update(state_changed_at=noon(2025, 1, 1))
    UserPoints.objects.update(enrolled_at=noon(2025, 1, 1))
    stored_birthdays.change(customer.pk, brand.pk, text="12-31", at=noon(2025, 1, 1))

    assert publish_and_credit(noon(2027, 1, 2)) == 1
    assert earned() == [("birthday:2026", 50)]
    assert publish_and_credit(noon(2027, 1, 4)) == 0


def test_points_for_the_birthday_month_come_on_its_first_day(brand, customer):
    Brand.objects.update(birthday_points="month")
    birthday_rule(brand)
    brand.earning_rules.update(state_changed_at=noon(2025, 1, 1))
    UserPoints.objects.update(enrolled_at=noon(2025, 1, 1))
    stored_birthdays.change(customer.pk, brand.pk, text="06-15", at=noon(2025, 1, 1))

    assert birthdays.publish_birthdays(at=noon(2026, 5, 31)) == 0
    assert birthdays.publish_birthdays(at=noon(2026, 6, 1)) == 1
    assert birthdays.publish_birthdays(at=noon(2026, 6, 15)) == 0


def test_no_birthday_points_without_an_active_rule(brand, customer, today):
    set_birthday(customer, brand, today)
    assert publish_and_credit() == 0
    birthday_rule(brand, state="draft")
    assert publish_and_credit() == 0


def test_rule_pays_for_no_birthday_before_its_start(brand, customer, today):
    birthday_rule(brand, since=timedelta(0))
    set_birthday(customer, brand, today - timedelta(days=1))

    assert publish_and_credit() == 0


def test_inactive_programme_pays_no_birthday_points(brand, customer, today):
    birthday_rule(brand)
    set_birthday(customer, brand, today)
    Brand.objects.update(loyalty_active=False)

    assert publish_and_credit() == 0


def test_rule_pays_for_no_birthdays_of_another_brand(brand, customer, today):
    other = factories.brand()
    birthday_rule(other)
    set_birthday(customer, brand, today)

    assert publish_and_credit() == 0


def test_blocked_member_gets_no_birthday_points(brand, customer, today):
    birthday_rule(brand)
    set_birthday(customer, brand, today)
    UserPoints.objects.update(status="blocked")

    assert publish_and_credit() == 0


def test_many_birthdays_on_one_day_are_paid_in_portions(brand, monkeypatch, today):
    monkeypatch.setattr(birthdays, "CHUNK", 2)
    monkeypatch.setattr(birthdays, "MAX_PUBLISHED", 3)
    birthday_rule(brand)
    for _number in range(6):
        set_birthday(factories.customer(brand), brand, today)

    assert [publish_and_credit() for _call in range(3)] == [4, 2, 0]
    assert len(earned()) == 6


def test_birthday_points_do_not_count_as_activity(brand, customer, today):
    birthday_rule(brand)
    set_birthday(customer, brand, today)
    publish_and_credit()

    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {movements.case_sql()}, {movements.activity_sql()} FROM loyalty_transaction t")
        assert cursor.fetchall() == [("earned", False)]


@pytest.mark.parametrize(
    ("text", "result"),
    [("12-31", MonthDay(12, 31)), ("1990-02-29", MonthDay(2, 29)), ("--05-01", MonthDay(5, 1)), ("", None)],
)
def test_birthday_is_parsed_without_its_year(text, result):
    assert stored_birthdays.parsed(text) == result


@pytest.mark.parametrize("text", ["02-30", "13-01", "00-10", "31.12.", "1-1", "04-31", "x", "٠١-٠١"])
def test_invalid_birthday_is_rejected(text):
    with pytest.raises(stored_birthdays.Invalid) as error:
        stored_birthdays.parsed(text)
    assert list(error.value.details["fields"]) == ["birthday"]


@pytest.mark.django_db(transaction=True)
def test_concurrent_schedulers_publish_each_birthday_once():
    brand = factories.brand()
    customers = [factories.customer(brand) for _ in range(5)]
    birthday_rule(brand)
    for each in customers:
        set_birthday(each, brand, timezone.now().date())

    published = run_concurrently(lambda _n: birthdays.publish_birthdays(at=timezone.now()), range(4), threads=4)
    worker.drain()

    assert sum(published) == Event.objects.filter(detail_type="member-birthday").count() == len(customers)
    assert len(earned()) == len(customers)


def test_failing_brand_does_not_delay_members_of_other_brands(brand, customer, today, monkeypatch, caplog):
    """Brands are processed in any order, so each of them fails once."""
    other = factories.brand(time_zone=str(ZONE))
    for each, member in ((brand, customer), (other, factories.customer(other))):
        birthday_rule(each)
        set_birthday(member, each, today)
    portions = birthdays._portions

    for failing_brand in (brand, other):

        def failing(brand, day, at, *, failing_brand=failing_brand):
            if brand == failing_brand:
                raise ArithmeticError
            return portions(brand, day, at)

        monkeypatch.setattr(birthdays, "_portions", failing)
        assert birthdays.publish_birthdays(at=timezone.now()) == 1
        assert f"birthdays at the brand {failing_brand.slug} could not be celebrated" in caplog.text
