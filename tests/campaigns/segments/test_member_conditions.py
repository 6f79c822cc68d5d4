"""Every field of members with every operator: the members it selects, and conditions that are rejected."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from brands.models.people import User
from campaigns.earning.comparisons import OPERATORS
from campaigns.earning.conditions import ConditionsError
from campaigns.segments import member_conditions, sentences
from campaigns.segments.fields import MEMBER_FIELDS
from core.db import sql
from loyalty.models.accounts import UserPoints
from loyalty.models.notifications import NotificationPreference
from loyalty.models.orders import CreditedOrder
from loyalty.points import birthdays
from tests.campaigns.segments.test_evaluation import evaluate_segment, member_ids
from tests.support import factories
from tests.support.portal import scan

pytestmark = pytest.mark.django_db
ALL_NAMES = {"ada", "ben", "cleo", "dora"}
BERLIN = {"latitude": 52.5, "longitude": 13.4, "kilometres": 30}


def row(field, operator, value):
    return {"field": field, "operator": operator, "value": value}


def ago(days):
    return timezone.now() - timedelta(days=days)


@pytest.fixture
def brand(brand):
    """Ada scans much and is Gold, Ben did nothing, Cleo scanned and ordered long ago, Dora is new; Eve is blocked."""
    factories.level(brand, "Gold", threshold=100)
    other = factories.brand()
    serum, soap = factories.product(brand, title="Serum"), factories.product(brand, title="Soap")
    members = {name: factories.customer(brand, first_name=name) for name in ("ada", "ben", "cleo", "dora", "eve")}
    UserPoints.objects.filter(brand=brand).update(enrolled_at=ago(100))
    UserPoints.objects.filter(user=members["dora"]).update(enrolled_at=ago(3))
    factories.points(members["ada"], brand, 150, reason_id="order:A1")
    factories.points(members["cleo"], brand, 20, at=ago(40))
    factories.points(members["dora"], brand, 5, reason_id="adjust:1")
    UserPoints.objects.filter(user=members["ada"]).update(current_level="Gold")
    UserPoints.objects.filter(user=members["cleo"]).update(current_level="Retired")
    code = factories.code(brand, product=serum)
    for days in (1, 2, 20):
        scan(
            code,
            user=members["ada"],
            scanned_at=ago(days),
            location="Berlin, Land Berlin",
            latitude=52.52,
            longitude=13.4,
        )
    scan(
        factories.code(brand, product=soap),
        user=members["cleo"],
        scanned_at=ago(40),
        location="München, Bayern",
        latitude=48.1,
        longitude=11.6,
    )
    scan(code, user=members["ben"], outcome="error", reason="expired", location="Berlin, Land Berlin")
    scan(factories.code(other), user=members["ben"], location="Berlin, Land Berlin", latitude=52.52, longitude=13.4)
    for name, days in (("cleo", 40), ("ada", 5)):
        CreditedOrder.objects.create(brand=brand, order_id=f"{name}-1", user=members[name], credited_at=ago(days))
    CreditedOrder.objects.create(brand=other, order_id="ben-1", user=members["ben"])
    for name, opted_out in (("ben", ["offers/email", "offers/push"]), ("cleo", ["offers/email"])):
        NotificationPreference.objects.create(brand=brand, user=members[name], opted_out=opted_out)
    NotificationPreference.objects.create(brand=other, user=members["ada"], opted_out=["offers/email"])
    for name, days in (("ada", 0), ("ben", 7), ("cleo", 360), ("eve", 0)):
        birthday = timezone.now().astimezone(brand.zone) + timedelta(days=days)
        birthdays.change(members[name].pk, brand.pk, text=f"{birthday:%m-%d}", at=timezone.now())
    birthdays.change(members["dora"].pk, other.pk, text="01-01", at=timezone.now())
    UserPoints.objects.filter(user=members["eve"]).update(status="blocked")
    return brand


def selected(brand, data, *, among=None):
    plan = member_conditions.plan_of(data, brand=brand, at=timezone.now())
    parameters = dict(plan.parameters)
    if among is not None:
        accounts = UserPoints.objects.filter(brand=brand, user__first_name__in=among)
        parameters["among_accounts"] = list(accounts.values_list("pk", flat=True))
        parameters["among_users"] = list(accounts.values_list("user_id", flat=True))
    keys = [key for (key,) in sql.rows(plan.text(among=among is not None), parameters)]
    assert len(set(keys)) == len(keys)
    return set(User.objects.filter(points_rows__pk__in=keys).values_list("first_name", flat=True))


def test_received_points_do_not_count_as_lifetime_points(brand, customer):
    account = factories.account(customer, brand)
    UserPoints.objects.filter(pk=account.pk).update(points=30, points_earned=30, points_received=30)

    earners, holders = (factories.segment(brand, (name, "at_least", 1)) for name in ("lifetime", "balance"))
    evaluate_segment(earners)
    evaluate_segment(holders)

    assert customer.pk not in member_ids(earners)
    assert customer.pk in member_ids(holders)


CASES = [
    ("level", "in", ["Gold"], "ada"),
    ("level", "in", ["bronze"], "ben cleo dora"),
    ("level", "not_in", ["gold"], "ben cleo dora"),
    ("level", "at_least", "Bronze", "ada ben cleo dora"),
    ("level", "at_least", "gold", "ada"),
    ("balance", "is", 20, "cleo"),
    ("balance", "at_least", 20, "ada cleo"),
    ("balance", "at_most", "19.99", "ben dora"),
    ("balance", "between", [5, 20], "cleo dora"),
    ("lifetime", "is", 150, "ada"),
    ("lifetime", "at_least", 21, "ada"),
    ("lifetime", "at_most", 0, "ben"),
    ("lifetime", "between", [1, 149], "cleo dora"),
    ("days_since_last", "is", 0, "ada"),
    ("days_since_last", "is", 40, "cleo"),
    ("days_since_last", "at_least", 40, "ben cleo"),
    ("days_since_last", "at_least", 41, "ben"),
    ("days_since_last", "at_least", 0, "ada ben cleo dora"),
    ("days_since_last", "at_most", 3, "ada dora"),
    ("days_since_last", "at_most", 40, "ada cleo dora"),
    ("days_since_last", "between", [3, 40], "cleo dora"),
    ("days_since_enrolled", "is", 3, "dora"),
    ("days_since_enrolled", "at_least", 100, "ada ben cleo"),
    ("days_since_enrolled", "at_most", 99, "dora"),
    ("days_since_enrolled", "between", [2, 4], "dora"),
    ("days_until_birthday", "is", 7, "ben"),
    ("days_until_birthday", "at_most", 7, "ada ben"),
    ("days_until_birthday", "at_most", 6, "ada"),
    ("days_until_birthday", "at_least", 8, "cleo"),
    ("days_until_birthday", "at_least", 366, ""),
    ("days_until_birthday", "between", [1, 364], "ben cleo"),
    ("recency", "is", 5, "ada"),
    ("recency", "at_least", 4, "ada cleo"),
    ("recency", "at_most", 1, "ben dora"),
    ("recency", "between", [2, 4], "cleo"),
    ("frequency", "is", 1, "ben dora"),
    ("frequency", "at_least", 2, "ada cleo"),
    ("frequency", "at_most", 3, "ben dora"),
    ("frequency", "between", [4, 5], "ada cleo"),
    ("value", "is", 5, "ada"),
    ("value", "at_least", 4, "ada cleo"),
    ("value", "at_most", 4, "ben cleo dora"),
    ("value", "between", [2, 4], "cleo"),
    ("scans", "at_least", {"count": 3, "days": 30}, "ada"),
    ("scans", "at_least", {"count": "1", "days": "41"}, "ada cleo"),
    ("scans", "at_most", {"count": 0, "days": 10}, "ben cleo dora"),
    ("scans", "at_most", {"count": 2, "days": 10}, "ada ben cleo dora"),
    ("orders", "at_least", {"count": 1, "days": 30}, "ada"),
    ("orders", "at_most", {"count": 0, "days": 30}, "ben cleo dora"),
    ("product", "in", ["Serum"], "ada"),
    ("product", "in", ["Serum", "Soap"], "ada cleo"),
    ("product", "not_in", ["Serum"], "ben cleo dora"),
    ("city", "in", ["berlin", "Paris"], "ada"),
    ("city", "not_in", ["MÜNCHEN"], "ada ben dora"),
    ("city", "starts", ["mün"], "cleo"),
    ("city", "starts", ["%"], ""),
    ("city", "all_of", ["Berlin"], "ada"),
    ("city", "all_of", ["Berlin", "München"], ""),
    ("region", "in", ["Bayern"], "cleo"),
    ("region", "not_in", ["Bayern"], "ada ben dora"),
    ("region", "starts", ["Land"], "ada"),
    ("region", "all_of", ["Bayern"], "cleo"),
    ("place", "within", BERLIN, "ada"),
    ("place", "outside", BERLIN, "ben cleo dora"),
    ("consent", "in", ["offers/email"], "ada dora"),
    ("consent", "in", ["offers/email", "offers/push"], "ada cleo dora"),
    ("consent", "not_in", ["offers/email"], "ben cleo"),
    ("consent", "not_in", ["offers/email", "offers/push"], "ben"),
]


def values_of(brand, field, value):
    if field != "product":
        return value
    return list(brand.products.filter(title__in=value).values_list("pk", flat=True))


def test_condition_selects_the_expected_members(brand, subtests):
    for field, operator, value, names in CASES:
        with subtests.test(f"{field} {operator} {value}"):
            data = {"all": [row(field, operator, values_of(brand, field, value))]}
            assert selected(brand, data) == set(names.split())
            assert selected(brand, data, among=["ada", "cleo"]) == set(names.split()) & {"ada", "cleo"}
            assert sentences.sentence(data, brand=brand)


def test_every_field_is_tested_with_every_operator():
    tested = {(field, operator) for field, operator, *_more in CASES}

    assert tested == {(field.name, name) for field in MEMBER_FIELDS.values() for name in OPERATORS[field.type]}


def test_condition_groups_all_any_and_none(brand):
    gold, silent = row("level", "in", ["Gold"]), row("scans", "at_most", {"count": 0, "days": 10})

    assert selected(brand, {}) == selected(brand, {"all": []}) == ALL_NAMES
    assert selected(brand, {"all": [gold, silent]}) == set()
    assert selected(brand, {"any": [gold, silent]}) == ALL_NAMES
    assert selected(brand, {"none": [gold]}) == ALL_NAMES - {"ada"}
    nested = {"all": [silent, {"none": [row("city", "in", ["München"]), row("days_since_enrolled", "at_most", 5)]}]}
    assert selected(brand, nested) == {"ben"}


INVALID_CONDITIONS = {
    "a field of rules": row("channel", "in", ["app"]),
    "an unknown level": row("level", "in", ["Platinum"]),
    "a product that is gone": row("product", "in", [2**40]),
    "an option that never was": row("consent", "in", ["offers/pigeon"]),
    "a number for a window": row("scans", "at_least", 3),
    "a sixth fifth": row("recency", "is", 6),
    "no fifth": row("value", "between", [0, 2]),
    "half a window": row("scans", "at_least", {"count": 3}),
    "no days": row("scans", "at_least", {"count": 3, "days": 0}),
    "too many days": row("scans", "at_least", {"count": 3, "days": 4000}),
    "an age below nothing": row("days_since_last", "at_least", -1),
    "an age as a text": row("days_since_last", "at_least", "long"),
    "a text for points": row("balance", "at_least", "1; DROP TABLE user_points"),
    "an operator of others": row("balance", "starts", "1"),
}


@pytest.mark.parametrize("condition", INVALID_CONDITIONS.values(), ids=list(INVALID_CONDITIONS))
def test_invalid_conditions_are_rejected_with_a_message(brand, condition):
    with pytest.raises(ConditionsError) as error:
        member_conditions.read({"all": [condition]}, brand=brand)

    assert str(error.value)


def test_product_of_another_brand_is_rejected_like_a_deleted_one(brand):
    foreign = factories.product(factories.brand())

    with pytest.raises(ConditionsError, match="is gone"):
        member_conditions.read({"all": [row("product", "in", [foreign.pk])]}, brand=brand)


def test_impossible_conditions_are_rejected(brand):
    often = row("scans", "at_least", {"count": 3, "days": 30})

    for impossible in (
        [often, row("scans", "at_most", {"count": 2, "days": 60})],
        [row("days_since_last", "at_least", 9), row("days_since_last", "at_most", 8)],
        [row("balance", "at_least", 9), row("balance", "at_most", 8)],
    ):
        with pytest.raises(ConditionsError, match="contradict"):
            member_conditions.read({"all": impossible}, brand=brand)
    assert selected(brand, {"all": [often, row("scans", "at_most", {"count": 2, "days": 10})]}) == {"ada"}


def test_text_of_a_condition_is_passed_as_a_query_parameter(brand):
    text = "x') or true --"
    plan = member_conditions.plan_of({"all": [row("city", "in", [text])]}, brand=brand, at=timezone.now())

    assert text not in plan.text(among=False)
    assert [text] in plan.parameters.values()
    assert selected(brand, {"all": [row("city", "in", [text])]}) == set()


def test_segment_is_described_as_a_sentence(brand):
    rows = [
        row("level", "in", ["Gold"]),
        row("scans", "at_least", {"count": 2, "days": 30}),
        {"any": [row("consent", "in", ["offers/email"]), row("days_since_last", "at_least", 60)]},
    ]

    assert sentences.sentence({"all": rows}, brand=brand) == (
        "Members for whom this is true: level is one of Gold and accepted scans is at least 2 in 30 days and (wants to "
        "hear about is one of Rewards and reminders (E-mail) or days since points were last earned is at least 60)."
    )


@pytest.mark.parametrize("value", ["1e-20000", "0.0000001", 1e-9])
def test_numbers_with_too_many_decimal_places_are_rejected(brand, value):
    with pytest.raises(ConditionsError, match="at most 6 decimal places"):
        member_conditions.read({"all": [{"field": "balance", "operator": "at_least", "value": value}]}, brand=brand)


def test_number_of_values_in_a_condition_is_limited(brand):
    cities = [f"City {number}" for number in range(30)]
    row = {"field": "city", "operator": "all_of", "value": cities}

    with pytest.raises(ConditionsError, match="at most 25"):
        member_conditions.read({"all": [row]}, brand=brand)


@pytest.mark.parametrize(("field", "statistics"), [("city", "scan_cities"), ("region", "scan_regions")])
def test_planner_has_statistics_for_cities_and_regions(brand, field, statistics):
    plan = member_conditions.plan_of({"all": [row(field, "in", ["Berlin"])]}, brand=brand, at=timezone.now())
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_get_statisticsobjdef_expressions(oid) FROM pg_statistic_ext WHERE stxname = %s", [statistics]
        )
        [[[expression]]] = cursor.fetchall()
        cursor.execute(f"EXPLAIN {plan.text(among=False)}", plan.parameters)
        planned = "\n".join(line for (line,) in cursor.fetchall())

    assert f"{expression} = ANY" in planned
