"""A brand's own kind of events."""

import pytest

from events.models import Event
from tests.campaigns.earning.earning_rules import rule
from tests.campaigns.intake.test_events import envelope
from tests.support import factories

TYPES = {
    "note": "text",
    "floor": "whole",
    "paid": "decimal",
    "guided": "switch",
    "booked_for": "date",
    "came_at": "time",
    "tried": "product",
    "store": ["Bern", "Basel"],
}


@pytest.fixture
def kind(brand):
    """A store visit, with a field of each type."""
    return factories.event_kind(brand, **TYPES)


@pytest.fixture
def hub(api):
    return api.hub()


@pytest.fixture
def send(hub, brand, customer, deliver_events):
    """Submit a store visit, let the workers deliver it, and return its event."""

    def submit(name="store-visit", **payload):
        event = envelope(customer, brand, name, payload or {"floor": 1})
        answer = hub.post("events", event)
        assert answer.status_code == 202, answer.content
        deliver_events()
        return Event.objects.get(event_id=event["id"])

    return submit


def visit_rule(brand, *rows, value=5, **fields):
    return rule(brand, "store-visit", value, "points", all_of=rows, **fields)
