"""Actions over HTTP: credited at once (spec 4.1), or handed in as an event and credited by the worker."""

import uuid
from decimal import Decimal

import pytest
from django.apps import apps
from django.db import connection

from authcodes.models.scans import Scan
from authcodes.recalls import recalls
from campaigns.api.campaign_event import message_of
from core.redis import client, rate_limits
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from tests.support import factories
from tests.support.api import error


@pytest.mark.parametrize(
    ("points", "words"), [(1, "1 point credited."), (1.5, "1.5 points credited."), (0, "0 points credited.")]
)
def test_the_message_counts_one_point_in_the_singular(points, words):
    limited = {"points_earned": points, "limit": {"period": "day"}}

    assert message_of({"points_earned": points}) == words
    assert message_of(limited) == f"The point limit of this day is reached; {words}"


@pytest.fixture
def app(api, customer):
    """The brand's app in the customer's hands."""
    return api.as_customer(customer).app()


@pytest.fixture
def hub(api, customer):
    """The brand's hub, on behalf of somebody who is logged in."""
    return api.as_customer(customer).hub()


def act(caller, user, kind, **payload):
    body = {"user_id": user.pk, "brand_id": caller.brand.pk, "type": kind, **payload}
    return caller.post("brand/loyalty/campaign/event", body)


def scan(caller, user, code, **facts):
    return act(caller, user, "authenticator_scan", product={"authCode": str(code), **facts})


# --- 4.1: what is credited -------------------------------------------------------------------------------------------


def test_answer_has_every_field_of_the_spec(app, brand, customer):
    factories.level(brand, "Silver", 10)
    factories.level(brand, "Gold", 500)
    campaign = factories.campaign(brand, campaign_name="Ten scans", target_value=10)
    factories.milestone(campaign, 5, reward_name="A mug")
    code = factories.code(brand, campaign=campaign)

    response = app.credit(customer, code)

    line = LoyaltyTransaction.objects.get()
    progress = {
        "campaign_id": campaign.pk,
        "campaign_name": "Ten scans",
        "progress": 1,
        "target": 10,
        "milestone_achieved": False,
        "next_reward": "A mug",
    }
    assert response.status_code == 200
    assert response.json() == {
        "success": True,
        "message": "10 points credited.",
        "data": {
            "points_earned": 10,
            "new_balance": 10,
            "transaction_id": str(line.pk),
            "campaign_progress": progress,
            "campaigns": [progress],
            "level_updated": True,
            "current_level": "Silver",
            "next_level_threshold": 500,
        },
    }


def test_new_balance_is_the_old_one_and_the_points(app, brand, customer):
    app.credit(customer, factories.code(brand))

    data = app.credit(customer, factories.code(brand, points_per_scan=25)).json()["data"]

    assert (data["points_earned"], data["new_balance"]) == (25, 35)
    assert factories.account(customer, brand).points == 35


def test_without_a_campaign_there_is_no_progress(app, brand, customer):
    data = app.credit(customer, factories.code(brand)).json()["data"]

    assert {"campaign_progress", "campaigns"}.isdisjoint(data)


def test_hub_states_the_override(hub, brand, customer):
    assert scan(hub, customer, factories.code(brand), redeem_point_value=77).json()["data"]["points_earned"] == 77


def test_hub_states_the_price(hub, brand, customer):
    brand.levels.update(scan_reward_type="percentage", scan_reward_value=Decimal("2.5"))

    assert scan(hub, customer, factories.code(brand), retailPrice=100.2).json()["data"]["points_earned"] == 3


def test_app_states_neither(app, brand, customer):
    response = scan(app, customer, factories.code(brand), redeem_point_value=77, retailPrice=1_000_000)

    assert response.json()["data"]["points_earned"] == 10


def test_hub_acts_for_any_customer_of_the_brand(hub, brand):
    somebody = factories.customer(brand)

    assert scan(hub, somebody, factories.code(brand)).status_code == 200
    assert factories.account(somebody, brand).points == 10


def test_app_acts_for_its_own_customer_only(app, brand):
    assert error(scan(app, factories.customer(brand), factories.code(brand))) == (403, "FORBIDDEN")


@pytest.mark.parametrize("kind", ["order", "profile", "login"])
def test_app_reports_scans_only(app, customer, kind):
    assert error(act(app, customer, kind)) == (403, "FORBIDDEN")


def test_hub_reports_orders(hub, brand, customer):
    factories.earning_rule(brand, "order-complete", 10, "percentage")

    data = act(hub, customer, "order", order={"orderId": "A1", "subtotal": 55.5, "discount": 0.5}).json()["data"]

    assert data["points_earned"] == 6  # 10 percent of 55, halves up
    assert LoyaltyTransaction.objects.get().reason_id == "order:A1"


def test_action_that_earns_nothing_here_is_refused(hub, customer):
    assert error(act(hub, customer, "login")) == (422, "NOT_ELIGIBLE")


def test_points_beyond_the_daily_limit_are_cut(api, app, brand, customer):
    brand.daily_point_limit = 4
    brand.save(update_fields=["daily_point_limit"])

    body = app.credit(customer, factories.code(brand)).json()

    assert body["data"]["points_earned"] == 4
    assert (body["data"]["limit"]["period"], body["data"]["limit"]["max"], body["data"]["limit"]["used"]) == (
        "day",
        4,
        0,
    )
    assert body["message"] == "The point limit of this day is reached; 4 points credited."


# --- 4.1: what is refused --------------------------------------------------------------------------------------------


def test_second_request_for_a_code_is_a_conflict_and_changes_nothing(app, brand, customer):
    code = factories.code(brand, scan_limit=None)
    app.credit(customer, code)

    response = app.credit(customer, code)

    assert error(response) == (409, "POINTS_ALREADY_CLAIMED")
    assert factories.account(customer, brand).points == 10
    assert LoyaltyTransaction.objects.count() == 1


def test_code_without_a_free_slot_earns_nothing(api, app, brand, customer):
    code = factories.code(brand)
    other = factories.customer(brand)
    api.as_customer(other).app().credit(other, code)

    assert error(app.credit(customer, code)) == (409, "SCAN_LIMIT_REACHED")


def test_recalled_product_earns_nothing(app, brand, customer):
    code = factories.code(brand)
    told = {"recall_id": "R1", "contact": "c", "message": "m", "reason": "r"}
    recalls.recall_batch(batch=code.batch, at=code.created_at, **told)

    assert error(app.credit(customer, code)) == (409, "CODE_RECALLED")


@pytest.mark.parametrize("which", ["unknown", "expired", "deactivated", "unassigned", "other brand"])
def test_code_that_is_not_valid_earns_nothing(app, brand, customer, which):
    response = app.credit(customer, bad_code(which, brand))

    assert error(response) == (400, "AUTH_CODE_INVALID")
    assert response.json()["message"] == "The auth code is not valid or has expired."


def bad_code(which, brand):
    """A code that customers are told nothing about."""
    if which == "unknown":
        return "NO-SUCH-CODE"
    if which == "expired":
        return factories.expired_code(brand)
    if which == "unassigned":
        return factories.code(brand, assigned=False)
    if which == "other brand":
        return factories.code(factories.brand())
    code = factories.code(brand)
    factories.deactivate(codes=[code], at=code.created_at)
    return code


def test_unknown_user_is_not_found(hub, brand, customer):
    customer.pk = 2**40

    assert error(scan(hub, customer, factories.code(brand))) == (404, "USER_NOT_FOUND")


def test_other_brands_customer_is_not_found(hub, brand):
    assert error(scan(hub, factories.customer(factories.brand()), factories.code(brand))) == (404, "USER_NOT_FOUND")


def test_brand_without_a_running_programme_credits_nothing(app, brand, customer):
    brand.loyalty_active = False
    brand.save(update_fields=["loyalty_active"])

    assert error(app.credit(customer, factories.code(brand))) == (403, "LOYALTY_DISABLED")


def test_blocked_member_earns_nothing(app, brand, customer):
    UserPoints.objects.update(status=UserPoints.Status.BLOCKED)

    assert error(app.credit(customer, factories.code(brand))) == (403, "MEMBER_BLOCKED")


def test_customer_of_a_brand_that_enrols_by_hand_must_be_enrolled(api, brand):
    brand.auto_enroll = False
    brand.save(update_fields=["auto_enroll"])
    stranger = factories.customer(brand, enrolled=False)

    response = api.as_customer(stranger).app().credit(stranger, factories.code(brand))

    assert error(response) == (422, "USER_NOT_ENROLLED")


def test_every_credential_is_needed(app, brand, customer):
    code = factories.code(brand)

    refusals = [error(app.without(name).credit(customer, code)) for name in ("api-key", "origin", "authorization")]

    assert refusals == [(401, "API_KEY_INVALID"), (403, "ORIGIN_NOT_ALLOWED"), (401, "AUTHENTICATION_REQUIRED")]
    assert not Scan.objects.filter(brand=brand).exists()


# --- 4.1: again ------------------------------------------------------------------------------------------------------


def test_same_key_and_request_get_the_same_bytes(app, brand, customer):
    factories.campaign(brand)
    code = factories.code(brand)
    first = app.credit(customer, code, idempotency_key="k1")

    again = app.credit(customer, code, idempotency_key="k1")

    assert (again.status_code, again.content) == (200, first.content)
    assert LoyaltyTransaction.objects.count() == 1


def test_refusal_is_repeated_too(app, brand, customer):
    code = factories.code(brand, assigned=False)
    first = app.credit(customer, code, idempotency_key="k1").json()
    code.batch.codes.update(product=factories.product(brand))

    again = app.credit(customer, code, idempotency_key="k1").json()

    assert (again["error"], again["message"]) == (first["error"], first["message"])


def test_key_belongs_to_its_request(app, brand, customer):
    app.credit(customer, factories.code(brand), idempotency_key="k1")

    assert error(app.credit(customer, factories.code(brand), idempotency_key="k1")) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert LoyaltyTransaction.objects.count() == 1


def test_key_belongs_to_its_caller(api, app, brand, customer):
    code = factories.code(brand, scan_limit=None)
    app.credit(customer, code, idempotency_key="k1")
    other = factories.customer(brand)

    response = api.as_customer(other).app().credit(other, code, idempotency_key="k1")

    assert response.json()["data"]["new_balance"] == 10
    assert LoyaltyTransaction.objects.count() == 2


# --- 4.1: how often --------------------------------------------------------------------------------------------------


def test_hundred_and_first_call_in_a_minute_is_refused(api, brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "campaign_event": "100/minute"}
    busy = factories.customer(brand, id=uuid.uuid4().int >> 66)  # nobody's limit from an earlier run
    app = api.as_customer(busy).app()

    answers = [app.credit(busy, "NO-SUCH-CODE") for _ in range(101)]

    assert [answer.status_code for answer in answers] == [400] * 100 + [429]
    assert 0 < int(answers[-1]["Retry-After"]) <= 60


# --- Events ----------------------------------------------------------------------------------------------------------


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


def test_event_is_accepted_and_then_credited(hub, brand, customer, deliver):
    factories.earning_rule(brand, "log-user-login", 5)
    event = envelope(customer, brand)

    response = hub.post("events", event)
    deliver()

    assert (response.status_code, response.json()) == (202, {"event_id": event["id"], "status": "accepted"})
    assert LoyaltyTransaction.objects.get().reason_id == "login:2026-03-14"


def test_event_delivered_again_is_a_duplicate(hub, brand, customer, deliver):
    factories.earning_rule(brand, "log-user-login", 5)
    event = envelope(customer, brand)
    hub.post("events", event)

    response = hub.post("events", event)
    deliver()

    assert (response.status_code, response.json()["status"]) == (202, "duplicate")
    assert Event.objects.filter(detail_type="log-user-login").count() == 1
    assert factories.account(customer, brand).points == 5


def test_id_may_come_again_from_another_source(hub, brand, customer):
    event = envelope(customer, brand)
    hub.post("events", event)

    assert hub.post("events", {**event, "source": "till.customer-app"}).json()["status"] == "accepted"


def test_scan_handed_in_earns(hub, brand, customer, deliver):
    payload = {"type": "authenticator_scan", "product": {"authCode": str(factories.code(brand))}}

    hub.post("events", envelope(customer, brand, "scan-auth", payload))
    deliver()

    assert factories.account(customer, brand).points == 10


def test_other_kinds_are_kept_and_credit_nothing(hub, brand, customer, deliver):
    hub.post("events", envelope(customer, brand, "basket-abandoned", {"any": ["thing"]}))
    deliver()

    event = Event.objects.get()
    assert (event.status, event.detail["payload"]) == ("ignored", {"any": ["thing"]})
    assert factories.account(customer, brand).points == 0


def test_bearer_token_of_an_event_is_in_no_table(hub, brand, customer, deliver):
    token = hub.headers["authorization"].removeprefix("Bearer ")
    event = envelope(customer, brand, arguments={"authorization": f"Bearer {token}"})

    assert hub.post("events", event).status_code == 202
    deliver()

    assert Event.objects.first().detail["arguments"] == {"brand_id": brand.pk, "user_id": customer.pk}
    assert tables_with(token) == []
    assert tables_with(event["id"]) == ["events_event"]


def tables_with(text):
    """Every table that holds `text` in some row."""
    names = sorted({model._meta.db_table for model in apps.get_models(include_auto_created=True)})
    with connection.cursor() as cursor:
        found = []
        for name in names:
            cursor.execute(f'SELECT count(*) FROM "{name}" AS row WHERE row::text LIKE %s', [f"%{text}%"])
            if cursor.fetchone()[0]:
                found.append(name)
    return found


def test_event_with_a_bad_token_is_refused(hub, brand, customer):
    event = envelope(customer, brand, arguments={"authorization": "Bearer made.up.token"})

    assert error(hub.post("events", event)) == (401, "TOKEN_INVALID")
    assert not Event.objects.exists()


def test_events_token_must_be_its_users(api, hub, brand, customer):
    others = api.as_customer(factories.customer(brand)).headers["authorization"]

    assert error(hub.post("events", envelope(customer, brand, arguments={"authorization": others}))) == (
        403,
        "BRAND_MISMATCH",
    )


def test_events_token_stands_for_a_user_who_is_not_a_member_yet(api, hub, brand, deliver):
    factories.earning_rule(brand, "log-user-login", 5)
    newcomer = factories.user()
    theirs = api.as_customer(newcomer).headers["authorization"]

    hub.post("events", envelope(newcomer, brand, arguments={"authorization": theirs}))
    deliver()

    assert factories.account(newcomer, brand).points == 5


def test_app_hands_in_no_events(app, brand, customer):
    assert error(app.post("events", envelope(customer, brand))) == (403, "FORBIDDEN")


def test_other_brands_customer_has_no_events_here(hub, brand):
    assert error(hub.post("events", envelope(factories.customer(factories.brand()), brand))) == (404, "USER_NOT_FOUND")


def test_event_of_another_brand_is_refused(hub, customer):
    assert error(hub.post("events", envelope(customer, factories.brand()))) == (403, "BRAND_MISMATCH")
    assert not Event.objects.exists()


def test_guessing_codes_by_this_door_locks_out_too(app, customer, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "unknown_code": "3/hour"}

    errors = [app.credit(customer, f"NO-SUCH-{number}").json()["error"] for number in range(5)]

    assert errors == ["AUTH_CODE_INVALID"] * 3 + ["RATE_LIMITED"] * 2


def test_more_accounts_give_one_address_no_more_guesses_here(app, brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "unknown_code_address": "2/hour"}
    customers = [factories.customer(brand) for _ in range(3)]

    errors = [app.as_customer(each).credit(each, "NO-SUCH").json()["error"] for each in customers]

    assert errors == ["AUTH_CODE_INVALID"] * 2 + ["RATE_LIMITED"]


@pytest.mark.parametrize(
    "kind", ["reward-claimed", "member-welcome", "balance-changed", "notify", "send-notice", "send-email"]
)
def test_nobody_hands_in_what_the_service_itself_publishes(hub, brand, customer, kind):
    payload = {"type": "reward", "milestone_id": 1, "reward_name": "x", "points": "5000"}

    assert error(hub.post("events", envelope(customer, brand, kind, payload))) == (400, "VALIDATION_ERROR")
    assert not Event.objects.exists()


def test_tokens_in_a_payload_that_nobody_knows_are_dropped(hub, brand, customer):
    payload = {"headers": [{"Authorization": "Bearer secret"}], "basket": {"token": "secret", "items": 3}}

    hub.post("events", envelope(customer, brand, "basket-abandoned", payload))

    assert Event.objects.get().detail["payload"] == {"headers": [{}], "basket": {"items": 3}}


def test_a_brand_cannot_use_up_the_limit_of_anothers_customer(api, app, brand, customer, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "campaign_event": "2/minute"}
    other = factories.brand()
    foreign = api.as_customer(factories.customer(other), of=other).hub(of=other)

    for _ in range(5):
        foreign.post(
            "brand/loyalty/campaign/event",
            {
                "user_id": customer.pk,
                "brand_id": other.pk,
                "type": "authenticator_scan",
                "product": {"authCode": "X"},
            },
        )

    assert app.credit(customer, factories.code(brand)).status_code == 200


HUB_CALLS = {
    "events": {},
    "members": {"email": "nobody@example.com"},
    "redemptions/check": {"code": "AAAA-AAAA"},
    "redemptions/use": {"code": "AAAA-AAAA"},
    "auth-codes/scan": {"code": "nothing"},
    "auth-codes/validate": {"code": "nothing"},
}


@pytest.mark.parametrize("path", HUB_CALLS)
def test_a_hubs_call_is_counted_in_one_round_trip_to_redis(api, path, monkeypatch):
    caller = api.hub()
    caller.post(path, HUB_CALLS[path])
    asked, command = [], client.command
    monkeypatch.setattr(client, "command", lambda *words: asked.append(words[0]) or command(*words))
    library = rate_limits.limiter().hit
    monkeypatch.setattr(rate_limits.limiter(), "hit", lambda *who: asked.append("library") or library(*who))

    caller.post(path, HUB_CALLS[path])

    # The second notes the call for the page of the key.
    assert asked == ["EVALSHA", "EVALSHA"]


@pytest.mark.parametrize("path", ["events", "members", "redemptions/check", "auth-codes/scan"])
def test_a_hubs_call_counts_against_what_its_brand_may_hand_in(api, brand, settings, path):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "brand": "1000/minute", "ingest": "2/minute"}
    caller = api.hub()
    for _ in range(2):
        assert caller.post(path, HUB_CALLS[path]).status_code != 429

    assert caller.post(path, HUB_CALLS[path]).status_code == 429
