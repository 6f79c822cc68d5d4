"""The pages of a brand's own kinds: registered with their fields, offered by rules, and tried."""

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


def tried(client, brand, customer, **entered):
    sent = {
        **NEW_RULE,
        "brand": brand.pk,
        "trial_member": customer.email,
        **{f"trial_{k}": v for k, v in entered.items()},
    }
    return client.post(address("campaigns.earningrule", "try"), sent).json()


def table(*rows, initial=0):
    sent = {"fields-TOTAL_FORMS": len(rows), "fields-INITIAL_FORMS": initial}
    for at, each in enumerate(rows):
        sent |= {f"fields-{at}-{name}": value for name, value in each.items()}
    return sent


def test_staff_register_a_kind_with_its_fields(brand):
    client = browser(staff(brand, role="manager"))
    fields = table(
        {"name": "store", "label": "Store", "type": "option", "required": "on", "options": "Bern, Basel"},
        {"name": "minutes", "label": "Minutes", "type": "whole"},
    )

    made = client.post(
        address("campaigns.eventkind", "add"),
        {"brand": brand.pk, "name": "store-visit", "title": "Store visit", "is_active": "on", **fields},
    )

    assert made.status_code == 302
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
def test_what_cannot_be_registered_is_refused_in_words(brand, name, field, expected_text):
    client = browser(staff(brand))
    fields = table({"name": "floor", "label": "Floor", "type": "whole", **field})

    answer = client.post(
        address("campaigns.eventkind", "add"), {"brand": brand.pk, "name": name, "title": "A visit", **fields}
    )

    assert answer.status_code == 200
    assert expected_text in text(answer)
    assert not EventKind.objects.exists()


def test_fields_are_added_and_never_change(brand, kind):
    client, there = browser(staff(brand)), address("campaigns.eventkind", "change", kind.pk)
    sent = form_of(client.get(there))
    at = next(number for number in range(8) if sent[f"fields-{number}-name"] == "store")
    more = {
        f"fields-8-{name}": value for name, value in {"name": "minutes", "label": "Minutes", "type": "whole"}.items()
    }

    shorter = client.post(there, sent | {f"fields-{at}-options": "Basel"})
    changed = client.post(
        there,
        sent
        | more
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
    made = visit_rule(brand, state="draft")
    assert client.post(address("campaigns.eventkind", "delete", kind.pk), {"post": "yes"}).status_code == 403
    made.delete()
    send(floor=1)
    assert client.post(address("campaigns.eventkind", "delete", kind.pk), {"post": "yes"}).status_code == 403
    Event.objects.all().delete()

    assert client.post(address("campaigns.eventkind", "delete", kind.pk), {"post": "yes"}).status_code == 302
    assert not EventKind.objects.exists()


def test_the_form_of_a_rule_offers_the_brands_own_kinds(brand, kind):
    factories.event_kind(factories.brand(), "foreign-visit", "Foreign visit")
    client, there = browser(staff(brand)), address("campaigns.earningrule", "add")

    shown = client.get(there)
    refused = client.post(there, {**NEW_RULE, "brand": brand.pk, "kind": "foreign-visit"})
    made = client.post(
        there,
        {
            **NEW_RULE,
            "brand": brand.pk,
            "conditions": '{"all": [{"field": "payload.floor", "operator": "is", "value": "2"}]}',
        },
    )

    choices = dict(shown.context["adminform"].form.fields["kind"].choices)
    assert choices["store-visit"] == "Store visit (store-visit)"
    assert "foreign-visit" not in choices
    assert "Select a valid choice" in str(errors(refused))
    assert made.status_code == 302
    assert EarningRule.objects.get().kind == "store-visit"
    assert "foreign" not in text(shown).lower()


def test_the_form_refuses_a_kind_of_another_brand_of_the_same_person(brand, kind):
    other = factories.brand()
    client = browser(staff(brand, other))

    refused = client.post(address("campaigns.earningrule", "add"), {**NEW_RULE, "brand": other.pk})

    assert list(errors(refused)) == ["kind"]


def test_the_test_bench_tries_made_up_and_past_events(brand, customer, kind, send):
    client = browser(staff(brand))
    past = send(floor=3)
    condition = {"conditions": '{"all": [{"field": "payload.floor", "operator": "at_least", "value": 2}]}'}

    def lines(**entered):
        sent = {**NEW_RULE, **condition, "brand": brand.pk, "trial_member": customer.email}
        sent |= {f"trial_{name}": value for name, value in entered.items()}
        return client.post(address("campaigns.earningrule", "try"), sent).json()

    assert lines(list=1)["events"] == [[str(past.pk), f"{past.time:%Y-%m-%d %H:%M} floor: 3"]]
    assert lines(event=past.pk)["lines"][0] == ["With this rule: 5 points", ["Visits: 5"]]
    assert lines(**{"payload.floor": "2", "payload.guided": "true"})["lines"][0][0] == "With this rule: 5 points"
    assert lines(**{"payload.floor": "1"})["lines"][-1][1] == ["Not met: Floor is at least 2"]
    assert lines(**{"payload.floor": "high"})["lines"][0][0] == "Cannot be tested"


def test_event_ids_of_another_brand_are_no_past_events(brand, customer, kind):
    other = factories.brand()
    factories.event_kind(other, floor="whole")
    foreign = Event.objects.create(
        brand=other,
        source="x.customer-app",
        event_id=uuid.uuid4(),
        detail_type="store-visit",
        detail={"arguments": {"user_id": customer.pk}, "payload": {"floor": 9}},
    )

    answer = tried(browser(staff(brand)), brand, customer, event=foreign.pk)

    assert answer["lines"][0][0] == "Cannot be tested"
