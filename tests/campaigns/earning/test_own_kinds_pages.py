"""The pages of a brand's own kinds: registering them with their fields, offering them in rules, and trying rules."""

import uuid

import pytest

from campaigns.models.earning_rules import EarningRule
from campaigns.models.event_kinds import EventKind
from events.models import Event
from tests.campaigns.earning.conftest import TYPES, visit_rule
from tests.support import factories
from tests.support.portal import address, browser, errors, form_of, staff, text

pytestmark = pytest.mark.django_db
NEW_RULE = {
    "name": "Visits",
    "kind": "store-visit",
    "reward_type": "points",
    "reward_value": 5,
    "per": "event",
    "basis": "whole",
    "stacking": "add",
    "priority": 100,
    "without_end": "on",
}


def try_rule(client, brand, customer, **trial_fields):
    data = {
        **NEW_RULE,
        "brand": brand.pk,
        "trial_member": customer.email,
        **{f"trial_{k}": v for k, v in trial_fields.items()},
    }
    return client.post(address("campaigns.earningrule", "try"), data).json()


def field_rows(*rows, initial=0):
    data = {"fields-TOTAL_FORMS": len(rows), "fields-INITIAL_FORMS": initial}
    for at, each in enumerate(rows):
        data |= {f"fields-{at}-{name}": value for name, value in each.items()}
    return data


def test_staff_register_a_kind_with_its_fields(brand):
    client = browser(staff(brand, role="manager"))
    fields = field_rows(
        {"name": "store", "label": "Store", "type": "option", "required": "on", "options": "Bern, Basel"},
        {"name": "minutes", "label": "Minutes", "type": "whole"},
    )

    response = client.post(
        address("campaigns.eventkind", "add"),
        {"brand": brand.pk, "name": "store-visit", "title": "Store visit", "is_active": "on", **fields},
    )

    assert response.status_code == 302
    kind = EventKind.objects.get()
    assert list(kind.fields.values_list("name", "type", "required", "options")) == [
        ("store", "option", True, ["Bern", "Basel"]),
        ("minutes", "whole", False, []),
    ]


@pytest.mark.parametrize(
    ("name", "field", "expected_text"),
    [
        ("scan-auth", {}, "has a kind"),
        ("notify", {}, "has a kind"),
        ("Store Visit", {}, "lower-case"),
        ("a-visit", {"name": "type"}, "reserved"),
        ("a-visit", {"name": "Floor"}, "lower-case"),
        ("a-visit", {"type": "option"}, "List the options"),
        ("a-visit", {"options": "a, b"}, "Only a field of the type"),
        ("a-visit", {"type": "option", "options": "a, A"}, "listed twice"),
    ],
)
def test_invalid_kind_is_rejected_with_a_message(brand, name, field, expected_text):
    client = browser(staff(brand))
    fields = field_rows({"name": "floor", "label": "Floor", "type": "whole", **field})

    answer = client.post(
        address("campaigns.eventkind", "add"), {"brand": brand.pk, "name": name, "title": "A visit", **fields}
    )

    assert answer.status_code == 200
    assert expected_text in text(answer)
    assert not EventKind.objects.exists()


def test_fields_can_be_added_but_never_changed(brand, kind):
    client, url = browser(staff(brand)), address("campaigns.eventkind", "change", kind.pk)
    data = form_of(client.get(url))
    at = next(number for number in range(8) if data[f"fields-{number}-name"] == "store")
    new_field = {
        f"fields-8-{name}": value for name, value in {"name": "minutes", "label": "Minutes", "type": "whole"}.items()
    }

    shorter = client.post(url, data | {f"fields-{at}-options": "Basel"})
    changed = client.post(
        url,
        data
        | new_field
        | {
            "fields-TOTAL_FORMS": 9,
            "fields-0-type": "whole",
            "fields-0-name": "x",
            f"fields-{at}-options": "Basel,Bern,Zug",
        },
    )

    assert "do not remove any" in text(shorter)
    assert changed.status_code == 302
    assert set(kind.fields.values_list("name", flat=True)) == {*TYPES, "minutes"}
    assert kind.fields.get(name="note").type == "text"
    assert kind.fields.get(name="store").options == ["Basel", "Bern", "Zug"]


def test_a_kind_in_use_cannot_be_deleted_in_the_portal(brand, customer, kind, send):
    client = browser(staff(brand))
    new_rule = visit_rule(brand, state="draft")
    assert client.post(address("campaigns.eventkind", "delete", kind.pk), {"post": "yes"}).status_code == 403
    new_rule.delete()
    send(floor=1)
    assert client.post(address("campaigns.eventkind", "delete", kind.pk), {"post": "yes"}).status_code == 403
    Event.objects.all().delete()

    assert client.post(address("campaigns.eventkind", "delete", kind.pk), {"post": "yes"}).status_code == 302
    assert not EventKind.objects.exists()


def test_rule_form_offers_own_kinds_of_the_brand(brand, kind):
    factories.event_kind(factories.brand(), "foreign-visit", "Foreign visit")
    client, url = browser(staff(brand)), address("campaigns.earningrule", "add")

    page = client.get(url)
    rejected = client.post(url, {**NEW_RULE, "brand": brand.pk, "kind": "foreign-visit"})
    created = client.post(
        url,
        {
            **NEW_RULE,
            "brand": brand.pk,
            "conditions": '{"all": [{"field": "payload.floor", "operator": "is", "value": "2"}]}',
        },
    )

    choices = dict(page.context["adminform"].form.fields["kind"].choices)
    assert choices["store-visit"] == "Store visit (store-visit)"
    assert "foreign-visit" not in choices
    assert "Select a valid choice" in str(errors(rejected))
    assert created.status_code == 302
    assert EarningRule.objects.get().kind == "store-visit"
    assert "foreign" not in text(page).lower()


def test_rule_form_rejects_a_kind_of_the_users_other_brand(brand, kind):
    other = factories.brand()
    client = browser(staff(brand, other))

    rejected = client.post(address("campaigns.earningrule", "add"), {**NEW_RULE, "brand": other.pk})

    assert list(errors(rejected)) == ["kind"]


def test_test_bench_tries_entered_and_past_events(brand, customer, kind, send):
    client = browser(staff(brand))
    past = send(floor=3)
    condition = {"conditions": '{"all": [{"field": "payload.floor", "operator": "at_least", "value": 2}]}'}

    def try_with(**trial_fields):
        data = {**NEW_RULE, **condition, "brand": brand.pk, "trial_member": customer.email}
        data |= {f"trial_{name}": value for name, value in trial_fields.items()}
        return client.post(address("campaigns.earningrule", "try"), data).json()

    assert try_with(list=1)["events"] == [[str(past.pk), f"{past.time:%Y-%m-%d %H:%M} floor: 3"]]
    assert try_with(event=past.pk)["lines"][0] == ["With this rule: 5 points", ["Visits: 5"]]
    assert try_with(**{"payload.floor": "2", "payload.guided": "true"})["lines"][0][0] == "With this rule: 5 points"
    assert try_with(**{"payload.floor": "1"})["lines"][-1][1] == ["Not met: Floor is at least 2"]
    assert try_with(**{"payload.floor": "high"})["lines"][0][0] == "Cannot be tested"


def test_event_of_another_brand_cannot_be_tried(brand, customer, kind):
    other = factories.brand()
    factories.event_kind(other, floor="whole")
    foreign = Event.objects.create(
        brand=other,
        source="x.customer-app",
        event_id=uuid.uuid4(),
        detail_type="store-visit",
        detail={"arguments": {"user_id": customer.pk}, "payload": {"floor": 9}},
    )

    answer = try_rule(browser(staff(brand)), brand, customer, event=foreign.pk)

    assert answer["lines"][0][0] == "Cannot be tested"


def test_own_fields_may_be_called_like_those_of_the_services_kinds(brand, customer):
    factories.event_kind(brand, product="whole", order="text")
    payload = {"product": 7, "order": "A-1"}
    Event.objects.create(
        brand=brand,
        source="x.customer-app",
        event_id=uuid.uuid4(),
        detail_type="store-visit",
        detail={"arguments": {"user_id": customer.pk}, "payload": payload},
    )

    [[_event, line]] = try_rule(browser(staff(brand)), brand, customer, list=1)["events"]

    assert line.endswith(" order: A-1, product: 7")


@pytest.mark.parametrize("number", ["--5", "5-", "-"])
def test_entered_number_that_is_none_cannot_be_tried(brand, customer, kind, number):
    answer = try_rule(browser(staff(brand)), brand, customer, **{"payload.floor": number})

    assert answer["lines"][0][0] == "Cannot be tested"
