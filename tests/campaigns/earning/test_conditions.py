"""Every field with every operator: values that match, values that do not, and conditions that are rejected."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from campaigns.earning import conditions
from campaigns.earning.action_context import ActionContext, History, Item, Place
from campaigns.earning.comparisons import OPERATORS
from campaigns.earning.conditions import ConditionsError
from campaigns.earning.fields import FIELDS, Needs
from loyalty.points.levels import Level

# A Tuesday, 22:30 in Berlin.
AT = datetime(2026, 12, 1, 21, 30, tzinfo=UTC)
BRONZE, GOLD = (
    Level(name, Decimal(threshold), "points", Decimal(1)) for name, threshold in (("Bronze", 0), ("Gold", 9))
)
SERUM = Item(7, "SER-1", "Serums", frozenset({"vegan", "new"}), 2, Decimal("49.90"))
SOAP = Item(8, "SOAP-9", "Soaps", frozenset(), 1, Decimal("4.90"))
BERLIN = Place("Berlin", "Land Berlin", 52.52, 13.405, lambda _latitude, _longitude: "DE")


def scan(**fields):
    context = ActionContext(
        **{
            "kind": "scan-auth",
            "happened_at": AT,
            "items": (SERUM,),
            "batch_id": 3,
            "campaign_id": 5,
            "place": BERLIN,
            "channel": "App",
            **fields,
        }
    )
    history = History(earlier=2, last_at=AT - timedelta(days=10, hours=1))
    return context.of_member(
        zone=ZoneInfo("Europe/Berlin"),
        level=GOLD,
        levels=(BRONZE, GOLD),
        history=history,
        segments=frozenset({4, 11}),
    )


def order(**fields):
    return scan(kind="order-complete", items=(SERUM, SOAP), subtotal=Decimal(110), amount=Decimal("99.50"), **fields)


def fulfils(data, context):
    return conditions.read(data, kind=context.kind).test()(context)


def row(field, operator, value):
    return {"field": field, "operator": operator, "value": value}


# Field, operator, values that match the action, values that do not.
SCAN_CASES = [
    ("product", "in", [[7], [1, 7], ["7"]], [[8], [70]]),
    ("product", "not_in", [[8]], [[7], [8, 7]]),
    ("sku", "in", [["SER-1"], ["ser-1", "x"]], [["SER"]]),
    ("sku", "not_in", [["SER"]], [["ser-1"]]),
    ("sku", "starts", [["SER-"], ["x", "se"]], [["1"]]),
    ("sku", "all_of", [["SER-1"]], [["SER-1", "SOAP-9"]]),
    ("category", "in", [["Serums"], ["SERUMS"]], [["Serum"]]),
    ("category", "not_in", [["Soaps"]], [["serums"]]),
    ("category", "starts", [["Ser"]], [["rum"]]),
    ("category", "all_of", [["Serums"]], [["Serums", "Soaps"]]),
    ("tags", "in", [["vegan"], ["old", "new"]], [["old"]]),
    ("tags", "not_in", [["old"]], [["old", "vegan"]]),
    ("tags", "all_of", [["vegan", "new"]], [["vegan", "old"]]),
    ("tags", "starts", [["veg"]], [["gan"]]),
    ("batch", "in", [[3]], [[4]]),
    ("batch", "not_in", [[4]], [[3]]),
    ("campaign", "in", [[5]], [[6]]),
    ("campaign", "not_in", [[6]], [[5]]),
    ("city", "in", [["berlin"]], [["Bern"]]),
    ("city", "not_in", [["Bern"]], [["Berlin"]]),
    ("city", "starts", [["Ber"]], [["lin"]]),
    ("city", "all_of", [["Berlin"]], [["Berlin", "Bern"]]),
    ("region", "in", [["Land Berlin"]], [["Bayern"]]),
    ("region", "not_in", [["Bayern"]], [["land berlin"]]),
    ("region", "starts", [["Land"]], [["Berlin"]]),
    ("region", "all_of", [["Land Berlin"]], [["x"]]),
    ("country", "in", [["de"], ["AT", "DE"]], [["AT"]]),
    ("country", "not_in", [["AT"]], [["DE"]]),
    ("country", "starts", [["D"]], [["E"]]),
    ("country", "all_of", [["DE"]], [["DE", "AT"]]),
    (
        "place",
        "within",
        [{"latitude": 52.4, "longitude": 13.1, "kilometres": 30}],
        [
            {"latitude": 48.1, "longitude": 11.6, "kilometres": 100},
        ],
    ),
    (
        "place",
        "outside",
        [{"latitude": 48.1, "longitude": 11.6, "kilometres": 100}],
        [
            {"latitude": 52.5, "longitude": 13.4, "kilometres": "2.5"},
        ],
    ),
    ("channel", "in", [["app"]], [["shop"]]),
    ("channel", "not_in", [["shop"]], [["App"]]),
    ("channel", "starts", [["a"]], [["p"]]),
    ("channel", "all_of", [["app"]], [["app", "shop"]]),
    ("level", "in", [["gold"]], [["Bronze"]]),
    ("level", "not_in", [["Bronze"]], [["Gold"]]),
    ("level", "at_least", ["Bronze", "Gold"], ["Platinum"]),
    ("segment", "in", [[4], [4, 9]], [[9]]),
    ("segment", "not_in", [[9]], [[4], [9, 11]]),
    ("nth", "is", [3], [2]),
    ("nth", "at_least", [3, 1], [4]),
    ("nth", "at_most", [3, 9], [2]),
    ("nth", "between", [[1, 3]], [[4, 9]]),
    ("nth", "every", [3, 1], [2]),
    ("days_since_last", "is", [10], [11]),
    ("days_since_last", "at_least", [10], [11]),
    ("days_since_last", "at_most", [10], [9]),
    ("days_since_last", "between", [[5, 10]], [[11, 20]]),
    ("days_since_last", "every", [5], [3]),
    ("item_price", "is", ["49.90", 49.9], ["49.91"]),
    ("item_price", "at_least", [49], [50]),
    ("item_price", "at_most", ["49.90"], [49]),
    ("item_price", "between", [["40", 50]], [[1, 2]]),
    ("weekday", "in", [[2], [1, 2]], [[3]]),
    ("weekday", "not_in", [[3]], [[2]]),
    ("time", "between", [["22:00", "23:00"], ["22:00", "06:00"]], [["21:00", "22:30"], ["23:00", "06:00"]]),
    ("day", "from", ["2026-12-01", "2026-11-30"], ["2026-12-02"]),
    ("day", "until", ["2026-12-01"], ["2026-11-30"]),
    ("day", "between", [["2026-12-01", "2026-12-31"]], [["2026-12-02", "2026-12-31"]]),
]
ORDER_CASES = [
    ("subtotal", "is", [110], [111]),
    ("subtotal", "at_least", [110], ["110.01"]),
    ("subtotal", "at_most", [110], [109]),
    ("subtotal", "between", [[100, 120]], [[111, 120]]),
    ("amount", "is", ["99.50"], [110]),
    ("amount", "at_least", ["99.5"], [100]),
    ("amount", "at_most", [100], [99]),
    ("amount", "between", [[99, 100]], [[100, 110]]),
    ("item_quantity", "is", [1, 2], [3]),
    ("item_quantity", "at_least", [2], [3]),
    ("item_quantity", "at_most", [1], [0]),
    ("item_quantity", "between", [[2, 4]], [[3, 4]]),
    ("item_quantity", "every", [2], [3]),
    ("product", "in", [[8], [7]], [[9]]),
    ("category", "not_in", [["Creams"]], [["Soaps"]]),
]
PROFILE_CASES = [
    ("profile_field", "in", [["phone"]], [["city"]]),
    ("profile_field", "not_in", [["city"]], [["phone"]]),
    ("profile_field", "starts", [["ph"]], [["one"]]),
    ("profile_field", "all_of", [["phone"]], [["phone", "city"]]),
]
CASES = [
    *((scan(), *each) for each in SCAN_CASES),
    *((order(), *each) for each in ORDER_CASES),
    *((scan(kind="log-user-profile-update", profile_field="phone"), *each) for each in PROFILE_CASES),
]


@pytest.mark.parametrize(("context", "field", "operator", "matching", "not_matching"), CASES)
def test_condition_matches_only_the_expected_values(context, field, operator, matching, not_matching):
    for value in matching:
        assert fulfils({"all": [row(field, operator, value)]}, context), value
    for value in not_matching:
        assert not fulfils({"all": [row(field, operator, value)]}, context), value


def test_every_field_is_tested_with_every_operator():
    tested = {(field, operator) for _context, field, operator, *_values in CASES}

    assert tested == {(field.name, name) for field in FIELDS.values() for name in OPERATORS[field.type]}


@pytest.mark.parametrize(("field", "operator", "value"), [(f, o, v[0]) for f, o, v, _not_matching in SCAN_CASES])
def test_unknown_values_fulfil_only_not_in(field, operator, value):
    empty_context = ActionContext("scan-auth", AT)

    assert fulfils({"all": [row(field, operator, value)]}, empty_context) == (operator == "not_in")


TRUE, FALSE = row("channel", "in", ["app"]), row("category", "in", ["Soaps"])
GROUPS = [
    ({}, True),
    ({"all": []}, True),
    ({"any": []}, True),
    ({"all": [TRUE, FALSE]}, False),
    ({"any": [TRUE, FALSE]}, True),
    ({"any": [FALSE]}, False),
    ({"none": [TRUE, FALSE]}, False),
    ({"none": [FALSE]}, True),
    ({"all": [TRUE, {"any": [FALSE, {"none": [FALSE]}]}]}, True),
    ({"all": [TRUE, {"any": [FALSE, {"none": [TRUE]}]}]}, False),
]


@pytest.mark.parametrize(("data", "expected"), GROUPS)
def test_condition_groups_all_any_and_none(data, expected):
    assert fulfils(data, scan()) == expected


INVALID_CONDITIONS = {
    "a list": [1],
    "two groups in one": {"all": [], "any": []},
    "an unknown group": {"some": []},
    "no list": {"all": {"a": 1}},
    "a text as a condition": {"all": ["product = 1"]},
    "an unknown field": {"all": [row("password", "in", ["x"])]},
    "a field of another kind": {"all": [row("subtotal", "is", 1)]},
    "an unknown operator": {"all": [row("product", "like", [1])]},
    "more than a condition": {"all": [{**TRUE, "script": "1"}]},
    "groups too deep": {"all": [{"all": [{"all": [{"all": []}]}]}]},
    "too many conditions": {"all": [{"any": [TRUE] * 50}, {"any": [TRUE] * 50}]},
    "no values": {"all": [row("product", "in", [])]},
    "one value for a list": {"all": [row("product", "in", 7)]},
    "too many values": {"all": [row("product", "in", list(range(1, 300)))]},
    "a text for an id": {"all": [row("product", "in", ["x"])]},
    "true for an id": {"all": [row("product", "in", [True])]},
    "an id that no row has": {"all": [row("product", "in", [2**63])]},
    "a number for a text": {"all": [row("city", "in", [1])]},
    "an empty text": {"all": [row("city", "in", [" "])]},
    "a null byte": {"all": [row("city", "in", ["a\x00"])]},
    "a text for a number": {"all": [row("item_price", "is", "many")]},
    "no number at all": {"all": [row("item_price", "is", "NaN")]},
    "infinite": {"all": [row("item_price", "is", float("inf"))]},
    "other digits": {"all": [row("item_price", "is", "٥")]},
    "half a time": {"all": [row("nth", "is", "1.5")]},
    "below nothing": {"all": [row("nth", "is", -1)]},
    "every nothing": {"all": [row("nth", "every", 0)]},
    "a range that ends before it begins": {"all": [row("nth", "between", [3, 1])]},
    "a range of three": {"all": [row("nth", "between", [1, 2, 3])]},
    "an eighth weekday": {"all": [row("weekday", "in", [8])]},
    "an hour that is none": {"all": [row("time", "between", ["25:00", "26:00"])]},
    "no time between": {"all": [row("time", "between", ["10:00", "10:00"])]},
    "a day that is none": {"all": [row("day", "from", "2026-02-30")]},
    "a day with a time": {"all": [row("day", "from", "2026-02-03T00:00")]},
    "beyond the pole": {"all": [row("place", "within", {"latitude": 91, "longitude": 0, "kilometres": 1})]},
    "no circle": {"all": [row("place", "within", {"latitude": 9, "longitude": 0, "kilometres": 0})]},
    "half a circle": {"all": [row("place", "within", {"latitude": 9})]},
    "numbers that contradict": {"all": [row("nth", "at_least", 5), row("nth", "at_most", 4)]},
    "days that contradict": {"all": [row("day", "from", "2026-12-02"), row("day", "until", "2026-12-01")]},
    "levels that contradict": {"all": [row("level", "in", ["Gold"]), row("level", "not_in", ["gold"])]},
    "batches that contradict": {"all": [row("batch", "in", [1]), row("batch", "in", [2])]},
}


@pytest.mark.parametrize("data", INVALID_CONDITIONS.values(), ids=list(INVALID_CONDITIONS))
def test_invalid_conditions_are_rejected_with_messages(data):
    with pytest.raises(ConditionsError) as error:
        conditions.read(data, kind="scan-auth")

    assert all(text for text in error.value.problems.values())


def test_error_names_the_position_and_the_expected_value():
    data = {"all": [TRUE, {"any": [row("nth", "is", "x")]}]}

    with pytest.raises(ConditionsError) as error:
        conditions.read(data, kind="scan-auth")

    assert error.value.problems == {"all[1].any[0].value": "Write a number, such as 49.90."}


def test_different_items_of_an_order_can_fulfil_two_product_conditions():
    both = {"all": [row("category", "in", ["Serums"]), row("category", "in", ["Soaps"])]}

    assert fulfils(both, order())


def test_needs_list_the_extra_data_that_conditions_require():
    def needs(*rows):
        return conditions.needs_of(conditions.read({"all": list(rows)}, kind="scan-auth"))

    assert needs(TRUE, row("weekday", "in", [1])) == Needs.NOTHING
    assert needs(TRUE, {"any": [row("nth", "is", 1)]}) == Needs.EARLIER
    assert needs(row("days_since_last", "is", 1), row("nth", "is", 1)) == Needs.EARLIER | Needs.LAST


def test_anchors_are_the_condition_with_the_fewest_values():
    def anchors(data):
        return conditions.anchors_of(conditions.read(data, kind="scan-auth"))

    assert anchors({"all": [row("product", "in", [1, 2]), row("batch", "in", [3])]}) == (("batch", 3),)
    assert anchors({"all": [row("category", "in", ["Serums", "Soaps"])]}) == (
        ("category", "serums"),
        ("category", "soaps"),
    )
    assert anchors({"all": [row("product", "not_in", [1]), {"any": [row("batch", "in", [3])]}]}) == ()
    assert anchors({"any": [row("batch", "in", [3])]}) == ()


def test_failed_conditions_are_listed():
    group = conditions.read({"all": [TRUE, FALSE, {"any": [row("nth", "is", 1)]}, {"none": [TRUE]}]}, kind="scan-auth")

    failed = conditions.failed(group, scan())

    assert [(each.field.name, each.raw) for each in failed] == [
        ("category", ["Soaps"]),
        ("nth", 1),
        ("channel", ["app"]),
    ]
    assert conditions.failed(conditions.EVERYTHING, scan()) == []
