"""Actions that are submitted as events over HTTP and credited by the worker."""

import uuid

import pytest
from django.apps import apps
from django.db import connection

from core.redis import client, rate_limits
from events.models import Event
from loyalty.models.ledger import LoyaltyTransaction
from tests.support import factories
from tests.support.api import error


def envelope(customer, brand, kind="log-user-login", payload=None, **fields):
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": kind,
        "source": "shop.customer-app",
        "account": "1",
        "time": "2026-03-14T09:26:53.589Z",
        "region": "here",
        "resources": [],
        "detail": {
            "arguments": {"brand_id": brand.pk, "user_id": customer.pk, **fields.pop("arguments", {})},
            "payload": payload or {"type": "login"},
        },
        **fields,
    }


def test_event_is_accepted_and_then_credited(hub, brand, customer, deliver_events):
    factories.earning_rule(brand, "log-user-login", 5)
    event = envelope(customer, brand)

    response = hub.post("events", event)
    deliver_events()

    assert (response.status_code, response.json()) == (202, {"event_id": event["id"], "status": "accepted"})
    assert LoyaltyTransaction.objects.get().reason_id == "login:2026-03-14"


def test_event_submitted_again_is_a_duplicate(hub, brand, customer, deliver_events):
    factories.earning_rule(brand, "log-user-login", 5)
    event = envelope(customer, brand)
    hub.post("events", event)

    response = hub.post("events", event)
    deliver_events()

    assert (response.status_code, response.json()["status"]) == (202, "duplicate")
    assert Event.objects.filter(detail_type="log-user-login").count() == 1
    assert factories.account(customer, brand).points == 5


def test_events_with_the_services_own_source_are_rejected(hub, brand, customer):
    """They would be missing in the list of submitted events, and could take ids of the service's own events."""
    response = hub.post("events", {**envelope(customer, brand), "source": "service.customer-app"})

    assert error(response) == (400, "VALIDATION_ERROR")
    assert "service's own events" in response.json()["message"]
    assert not Event.objects.exists()


def test_id_may_be_reused_by_another_source(hub, brand, customer):
    event = envelope(customer, brand)
    hub.post("events", event)

    assert hub.post("events", {**event, "source": "till.customer-app"}).json()["status"] == "accepted"


def test_submitted_scan_earns_points(hub, brand, customer, deliver_events):
    payload = {"type": "authenticator_scan", "product": {"authCode": str(factories.code(brand))}}

    hub.post("events", envelope(customer, brand, "scan-auth", payload))
    deliver_events()

    assert factories.account(customer, brand).points == 10


def test_unknown_kinds_are_stored_and_ignored(hub, brand, customer, deliver_events):
    hub.post("events", envelope(customer, brand, "basket-abandoned", {"any": ["thing"]}))
    deliver_events()

    event = Event.objects.get()
    assert (event.status, event.detail["payload"]) == ("ignored", {"any": ["thing"]})
    assert factories.account(customer, brand).points == 0


def test_bearer_token_of_an_event_is_not_stored(hub, brand, customer, deliver_events):
    token = hub.headers["authorization"].removeprefix("Bearer ")
    event = envelope(customer, brand, arguments={"authorization": f"Bearer {token}"})

    assert hub.post("events", event).status_code == 202
    deliver_events()

    assert Event.objects.first().detail["arguments"] == {"brand_id": brand.pk, "user_id": customer.pk}
    assert tables_containing(token) == []
    assert tables_containing(event["id"]) == ["events_event"]


def tables_containing(text):
    """Every table with a row that contains `text`."""
    names = sorted({model._meta.db_table for model in apps.get_models(include_auto_created=True)})
    with connection.cursor() as cursor:
        tables = []
        for name in names:
            cursor.execute(f'SELECT count(*) FROM "{name}" AS row WHERE row::text LIKE %s', [f"%{text}%"])
            if cursor.fetchone()[0]:
                tables.append(name)
    return tables


def test_event_with_an_invalid_token_is_rejected(hub, brand, customer):
    event = envelope(customer, brand, arguments={"authorization": "Bearer made.up.token"})

    assert error(hub.post("events", event)) == (401, "TOKEN_INVALID")
    assert not Event.objects.exists()


def test_event_with_the_token_of_another_user_is_rejected(api, hub, brand, customer):
    other_authorization = api.as_customer(factories.customer(brand)).headers["authorization"]

    assert error(hub.post("events", envelope(customer, brand, arguments={"authorization": other_authorization}))) == (
        403,
        "BRAND_MISMATCH",
    )


def test_token_authorises_an_event_of_a_user_who_is_not_yet_a_member(api, hub, brand, deliver_events):
    factories.earning_rule(brand, "log-user-login", 5)
    newcomer = factories.user()
    authorization = api.as_customer(newcomer).headers["authorization"]

    hub.post("events", envelope(newcomer, brand, arguments={"authorization": authorization}))
    deliver_events()

    assert factories.account(newcomer, brand).points == 5


def test_app_cannot_submit_events(app, brand, customer):
    assert error(app.post("events", envelope(customer, brand))) == (403, "FORBIDDEN")


def test_event_for_a_customer_of_another_brand_is_rejected(hub, brand):
    assert error(hub.post("events", envelope(factories.customer(factories.brand()), brand))) == (404, "USER_NOT_FOUND")


def test_event_for_another_brand_is_rejected(hub, customer):
    assert error(hub.post("events", envelope(customer, factories.brand()))) == (403, "BRAND_MISMATCH")
    assert not Event.objects.exists()


def test_too_many_unknown_codes_lock_the_customer_out(app, customer, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "unknown_code": "3/hour"}

    errors = [app.credit(customer, f"NO-SUCH-{number}").json()["error"] for number in range(5)]

    assert errors == ["AUTH_CODE_INVALID"] * 3 + ["RATE_LIMITED"] * 2


def test_one_address_gets_no_more_guesses_with_more_accounts(app, brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "unknown_code_address": "2/hour"}
    customers = [factories.customer(brand) for _ in range(3)]

    errors = [app.as_customer(each).credit(each, "NO-SUCH").json()["error"] for each in customers]

    assert errors == ["AUTH_CODE_INVALID"] * 2 + ["RATE_LIMITED"]


@pytest.mark.parametrize(
    "kind", ["reward-claimed", "member-welcome", "balance-changed", "notify", "send-notice", "send-email"]
)
def test_kinds_published_by_the_service_cannot_be_submitted(hub, brand, customer, kind):
    payload = {"type": "reward", "milestone_id": 1, "reward_name": "x", "points": "5000"}

    assert error(hub.post("events", envelope(customer, brand, kind, payload))) == (400, "VALIDATION_ERROR")
    assert not Event.objects.exists()


def test_tokens_in_an_unknown_payload_are_removed(hub, brand, customer):
    payload = {"headers": [{"Authorization": "Bearer secret"}], "basket": {"token": "secret", "items": 3}}

    hub.post("events", envelope(customer, brand, "basket-abandoned", payload))

    assert Event.objects.get().detail["payload"] == {"headers": [{}], "basket": {"items": 3}}


HUB_CALLS = {
    "events": {},
    "members": {"email": "nobody@example.com"},
    "redemptions/check": {"code": "AAAA-AAAA"},
    "redemptions/use": {"code": "AAAA-AAAA"},
    "auth-codes/scan": {"code": "nothing"},
    "auth-codes/validate": {"code": "nothing"},
}


@pytest.mark.parametrize("path", HUB_CALLS)
def test_call_of_a_hub_is_rate_limited_in_one_redis_round_trip(api, path, monkeypatch):
    caller = api.hub()
    caller.post(path, HUB_CALLS[path])
    commands, command = [], client.command
    monkeypatch.setattr(client, "command", lambda *arguments: commands.append(arguments[0]) or command(*arguments))
    library = rate_limits.limiter().hit
    monkeypatch.setattr(
        rate_limits.limiter(), "hit", lambda *arguments: commands.append("library") or library(*arguments)
    )

    caller.post(path, HUB_CALLS[path])

    # The second command records the call for the page of the API key.
    assert commands == ["EVALSHA", "EVALSHA"]


@pytest.mark.parametrize("path", ["events", "members", "redemptions/check", "auth-codes/scan"])
def test_call_of_a_hub_counts_against_the_ingest_limit_of_its_brand(api, brand, settings, path):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "brand": "1000/minute", "ingest": "2/minute"}
    caller = api.hub()
    for _ in range(2):
        assert caller.post(path, HUB_CALLS[path]).status_code != 429

    assert caller.post(path, HUB_CALLS[path]).status_code == 429
