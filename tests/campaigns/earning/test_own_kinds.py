"""Events of a brand's own kinds: payloads are checked, rules compare each type of field, and each event pays once."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from campaigns.accrual import trial
from campaigns.earning import checks, conditions, own_fields, sentences
from campaigns.earning.conditions import ConditionsError
from campaigns.models.earning_rules import EarningRule
from campaigns.models.event_kinds import EventKind, EventKindField
from events import retention
from events.models import Event
from loyalty.models.ledger import LoyaltyTransaction
from tests.campaigns.earning.conftest import visit_rule
from tests.campaigns.earning.earning_rules import row
from tests.campaigns.intake.test_events import envelope
from tests.support import factories
from tests.support.concurrency import run_during_transaction

pytestmark = pytest.mark.django_db


def test_own_kind_earns_only_by_its_rules(brand, kind, send):
    assert send(floor=1).outcome["error"] == "NOT_ELIGIBLE"
    visit_rule(brand)

    event = send(floor=1)

    assert (event.status, event.outcome["points_earned"]) == ("done", 5)
    entry = LoyaltyTransaction.objects.get()
    assert entry.reason_id.startswith("event:store-visit:")
    assert entry.note == "Points for: Store visit"
    assert entry.details["shares"][0]["points"] == "5"


def test_event_pays_once_even_after_its_row_was_deleted(hub, brand, customer, kind, deliver_events):
    visit_rule(brand)
    event = envelope(customer, brand, "store-visit", {"floor": 1})
    for _time in range(2):
        hub.post("events", event)
        deliver_events()
        Event.objects.filter(event_id=event["id"]).delete()
    hub.post("events", {**event, "source": "till.customer-app"})
    deliver_events()

    assert LoyaltyTransaction.objects.count() == 2  # another source's id is another event


def test_paid_events_of_own_kinds_are_purged(brand, kind, send):
    visit_rule(brand)
    send(floor=1)

    assert retention.purge_paid(before=timezone.now() + timedelta(days=1)) == 1
    assert not Event.objects.filter(detail_type="store-visit").exists()


@pytest.mark.parametrize(
    ("condition", "matching", "other"),
    [
        (row("payload.note", "in", ["VIP"]), {"note": "vip"}, {"note": "guest"}),
        (row("payload.note", "starts", ["vi"]), {"note": "VIP"}, {"note": "guest"}),
        (row("payload.floor", "at_most", -1), {"floor": -2}, {"floor": 0}),
        (row("payload.floor", "between", [1, 3]), {"floor": 3}, {"floor": 4}),
        (row("payload.paid", "at_least", "10.5"), {"paid": 10.5}, {"paid": 10.49}),
        (row("payload.guided", "is", True), {"guided": True}, {"guided": False}),
        (row("payload.booked_for", "from", "2026-12-01"), {"booked_for": "2026-12-01"}, {"booked_for": "2026-11-30"}),
        (row("payload.came_at", "between", ["22:00", "06:00"]), {"came_at": "23:15"}, {"came_at": "12:00"}),
        (row("payload.store", "in", ["Bern"]), {"store": "Bern"}, {"store": "Basel"}),
        (row("payload.store", "not_in", ["Bern"]), {"floor": 1}, {"store": "Bern"}),
        (row("nth", "is", 2), {"floor": 1}, None),
    ],
    ids=lambda value: f"{value['field']}-{value['operator']}" if value and "operator" in value else "",
)
def test_rules_compare_every_type_of_field(brand, kind, send, condition, matching, other):
    visit_rule(brand, name="Each", value=1)
    visit_rule(brand, condition, name="Some", value=10)

    earned = [send(**payload).outcome["points_earned"] for payload in ((other or matching), matching)]

    assert earned == [1, 11]


def test_product_field_accepts_an_id_or_sku(brand, kind, send):
    serum, soap = factories.product(brand, sku="SER-1"), factories.product(brand, sku="SOAP")
    visit_rule(brand, row("payload.tried", "in", [serum.pk]))

    assert send(tried="SER-1").detail["payload"] == {"tried": serum.pk}
    assert send(tried=serum.pk).outcome["points_earned"] == 5
    assert send(tried=soap.pk).outcome["error"] == "NOT_ELIGIBLE"


INVALID_VALUES = {
    "note": [5, "x" * 501, "two\nlines", ["x"], ""],
    "floor": ["1", 1.5, True, 10**13],
    "paid": ["9.90", False, 1e300, 1.23456],
    "guided": ["yes", 1],
    "booked_for": ["1.12.2026", 20261201, "2026-13-01", "0001-01-01", "٢٠٢٦-١٢-٠١", {}],
    "came_at": ["6pm", "25:00", 18, "18:00:00", []],
    "tried": ["nothing", 10**12, -1, 1.5, True, "", "a\nb", {}],
    "store": ["Zug", "bern", 1, ["Bern"]],
}


@pytest.mark.parametrize(
    ("field", "value"), [(name, value) for name, values in INVALID_VALUES.items() for value in values]
)
def test_invalid_payload_is_rejected_naming_the_field(hub, brand, customer, kind, field, value):
    answer = hub.post("events", envelope(customer, brand, "store-visit", {field: value}))

    assert answer.status_code == 400, answer.content
    assert answer.json()["error"] == "VALIDATION_ERROR"
    assert field in str(answer.json()["details"])
    assert not Event.objects.exists()


def test_required_fields_are_enforced_and_unknown_fields_dropped(hub, brand, customer, kind, send):
    assert send(floor=1, token="secret", more={"deep": 1}).detail["payload"] == {"floor": 1}
    kind.fields.filter(name="floor").update(required=True)

    for payload in ({"note": "x"}, {"floor": None}):
        answer = hub.post("events", envelope(customer, brand, "store-visit", payload))
        assert (answer.status_code, list(answer.json()["details"]["fields"])) == (400, ["floor"])


def test_product_of_another_brand_is_rejected_like_an_unknown_one(hub, brand, customer, kind):
    foreign = factories.product(factories.brand(), sku="THEIRS")

    answers = [
        hub.post("events", envelope(customer, brand, "store-visit", {"tried": value}))
        for value in (foreign.pk, "THEIRS", "NOBODYS")
    ]

    assert [answer.status_code for answer in answers] == [400] * 3
    assert (
        len(
            {
                str(answer.json()["details"]).replace(str(foreign.pk), "NOBODYS").replace("THEIRS", "NOBODYS")
                for answer in answers
            }
        )
        == 1
    )


def test_inactive_and_foreign_kinds_are_ignored_with_any_payload(brand, customer, send):
    factories.event_kind(factories.brand(), "foreign-visit", floor="whole")
    inactive_kind = factories.event_kind(brand, floor="whole")
    visit_rule(brand)
    EventKind.objects.filter(pk=inactive_kind.pk).update(is_active=False)

    assert (send(floor="any").status, send("foreign-visit", floor="any").status) == ("ignored", "ignored")


def test_waiting_event_is_ignored_after_its_kind_was_switched_off(hub, brand, customer, kind, deliver_events):
    visit_rule(brand)
    hub.post("events", envelope(customer, brand, "store-visit", {"floor": 1}))
    EventKind.objects.update(is_active=False)
    deliver_events()

    assert Event.objects.get().status == "ignored"


def test_own_kinds_advance_no_campaign(brand, kind, send):
    factories.campaign(brand, type="login", target_value=1)
    visit_rule(brand)

    assert "campaigns" not in send(floor=1).outcome


def test_customer_sees_the_title_in_their_language(api, brand, customer, kind, send):
    EventKind.objects.update(translations={"de": {"title": "Filialbesuch"}})
    visit_rule(brand)
    send(floor=1)

    notes = [
        api.as_customer(customer)
        .with_headers(accept_language=language)
        .get("customer/loyalty/transactions")
        .json()["data"][0]["note"]
        for language in ("en", "de", "ar")
    ]

    assert notes == ["Points for: Store visit", "Punkte für: Filialbesuch", "نقاط مقابل: Store visit"]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (row("payload.colour", "in", ["red"]), "no field payload.colour"),
        (row("payload.floor", "starts", ["x"]), "payload.floor takes one of"),
        (row("payload.floor", "is", "1.5"), "whole number"),
        (row("payload.guided", "is", "yes"), "yes or no"),
        (row("payload.store", "in", ["Zug"]), "zug is none of: Bern, Basel"),
        (row("payload.came_at", "between", ["6pm", "7pm"]), "HH:MM"),
        (row("channel", "in", ["web"]), "no field channel"),
        (row("subtotal", "at_least", 5), "no field subtotal"),
    ],
)
def test_invalid_comparison_is_rejected(brand, kind, condition, message):
    fields = own_fields.of_kinds(brand.pk, ["store-visit"])["store-visit"]

    with pytest.raises(ConditionsError, match=message):
        conditions.read({"all": [condition]}, kind="store-visit", own=fields)


def test_only_the_day_of_the_action_must_lie_within_the_rules_dates(brand, kind):
    """A visit today may be booked for a day on which the rule has ended."""
    ends_at = timezone.now() + timedelta(days=30)
    late = f"{ends_at + timedelta(days=30):%Y-%m-%d}"
    booked_late = visit_rule(brand, row("payload.booked_for", "from", late), name="Booked", ends_at=ends_at)
    visited_late = visit_rule(brand, row("day", "from", late), name="Visited", ends_at=ends_at)

    assert checks.problems_of(booked_late) == {}
    assert list(checks.problems_of(visited_late)) == ["conditions"]


def test_contradicting_conditions_are_rejected(brand, kind):
    fields = own_fields.of_kinds(brand.pk, ["store-visit"])["store-visit"]
    both = {"all": [row("payload.guided", "is", True), row("payload.guided", "is", False)]}

    with pytest.raises(ConditionsError, match="contradict"):
        conditions.read(both, kind="store-visit", own=fields)


def test_rule_sentence_uses_the_brands_labels(brand, kind):
    new_rule = visit_rule(brand, row("payload.guided", "is", False), row("payload.store", "in", ["Bern"]))

    assert sentences.sentence(new_rule) == (
        "When “Store visit” happens and Guided is no and Store is one of Bern: 5 points."
    )


def test_stored_values_of_another_type_count_as_missing(brand, kind, customer):
    """Events stored before their kind was registered can have such values."""
    fields = own_fields.of_kinds(brand.pk, ["store-visit"])["store-visit"]
    payload = {"floor": "x", "paid": {}, "guided": "yes", "booked_for": 5, "came_at": [], "tried": "x", "note": None}
    context = trial.ActionContext(kind="store-visit", happened_at=timezone.now(), payload=payload)

    assert [fields[f"payload.{name}"].read(context) for name in payload] == [None, None, None, None, None, (), ()]


@pytest.mark.parametrize(
    "change",
    [
        lambda kind: EventKind.objects.filter(pk=kind.pk).update(name="other"),
        lambda kind: kind.fields.filter(name="floor").update(name="storey"),
        lambda kind: kind.fields.filter(name="floor").update(type="text"),
        lambda kind: kind.fields.filter(name="store").update(options=["Basel"]),
    ],
    ids=["name", "field", "type", "options"],
)
def test_database_protects_names_types_and_options(kind, change):
    with pytest.raises(IntegrityError, match="never change"), transaction.atomic():
        change(kind)


def test_kind_used_by_a_rule_cannot_be_deleted(brand, kind):
    new_rule = visit_rule(brand, state="draft")
    for delete in (kind.delete, kind.fields.all().delete):
        with pytest.raises(IntegrityError, match="an earning rule is for"), transaction.atomic():
            delete()
    new_rule.delete()

    kind.delete()
    assert not EventKindField.objects.exists()


def test_rule_for_a_kind_of_another_brand_is_rejected(brand):
    factories.event_kind(factories.brand(), floor="whole")

    with pytest.raises(IntegrityError, match="no event kind"), transaction.atomic():
        visit_rule(brand)


@pytest.mark.django_db(transaction=True)
def test_kind_is_not_deleted_while_a_rule_for_it_is_created():
    brand = factories.brand()
    kind = factories.event_kind(brand, floor="whole")

    result = run_during_transaction(lambda: visit_rule(brand), kind.delete)

    assert isinstance(result, IntegrityError)
    assert (EventKind.objects.count(), EarningRule.objects.count()) == (1, 1)
