"""Actions over HTTP that are credited immediately (spec 4.1)."""

import uuid
from decimal import Decimal

import pytest

from authcodes.models.scans import Scan
from authcodes.recalls import recalls
from campaigns.api.campaign_event import message_of
from events import delivery
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from tests.loyalty.members.erasure.conftest import erase
from tests.support import factories
from tests.support.api import error


@pytest.mark.parametrize(
    ("points", "message"), [(1, "1 point credited."), (1.5, "1.5 points credited."), (0, "0 points credited.")]
)
def test_message_uses_singular_and_plural_of_points(points, message):
    limited = {"points_earned": points, "limit": {"period": "day"}}

    assert message_of({"points_earned": points}) == message
    assert message_of(limited) == f"The point limit of this day is reached; {message}"


def report_action(caller, user, kind, **payload):
    body = {"user_id": user.pk, "brand_id": caller.brand.pk, "type": kind, **payload}
    return caller.post("brand/loyalty/campaign/event", body)


def scan(caller, user, code, **product_fields):
    return report_action(caller, user, "authenticator_scan", product={"authCode": str(code), **product_fields})


# --- 4.1: what is credited -------------------------------------------------------------------------------------------


def test_answer_has_every_field_of_the_spec(app, brand, customer):
    factories.level(brand, "Silver", 10)
    factories.level(brand, "Gold", 500)
    campaign = factories.campaign(brand, campaign_name="Ten scans", target_value=10)
    factories.milestone(campaign, 5, reward_name="A mug")
    code = factories.code(brand, campaign=campaign)

    response = app.credit(customer, code)

    entry = LoyaltyTransaction.objects.get()
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
            "transaction_id": str(entry.pk),
            "campaign_progress": progress,
            "campaigns": [progress],
            "level_updated": True,
            "current_level": "Silver",
            "next_level_threshold": 500,
        },
    }


def test_new_balance_adds_the_points_to_the_old_one(app, brand, customer):
    app.credit(customer, factories.code(brand))

    data = app.credit(customer, factories.code(brand, points_per_scan=25)).json()["data"]

    assert (data["points_earned"], data["new_balance"]) == (25, 35)
    assert factories.account(customer, brand).points == 35


def test_answer_without_a_campaign_has_no_progress(app, brand, customer):
    data = app.credit(customer, factories.code(brand)).json()["data"]

    assert {"campaign_progress", "campaigns"}.isdisjoint(data)


def test_hub_can_set_the_point_override(hub, brand, customer):
    assert scan(hub, customer, factories.code(brand), redeem_point_value=77).json()["data"]["points_earned"] == 77


def test_hub_can_set_the_price(hub, brand, customer):
    brand.levels.update(scan_reward_type="percentage", scan_reward_value=Decimal("2.5"))

    assert scan(hub, customer, factories.code(brand), retailPrice=100.2).json()["data"]["points_earned"] == 3


def test_app_can_set_neither_override_nor_price(app, brand, customer):
    response = scan(app, customer, factories.code(brand), redeem_point_value=77, retailPrice=1_000_000)

    assert response.json()["data"]["points_earned"] == 10


def test_hub_acts_for_any_customer_of_the_brand(hub, brand):
    other_customer = factories.customer(brand)

    assert scan(hub, other_customer, factories.code(brand)).status_code == 200
    assert factories.account(other_customer, brand).points == 10


def test_app_acts_for_its_own_customer_only(app, brand):
    code, customer_elsewhere = factories.code(brand), factories.customer(factories.brand())

    assert error(scan(app, factories.customer(brand), code)) == (403, "FORBIDDEN")
    assert error(scan(app, customer_elsewhere, code)) == (403, "FORBIDDEN")  # it does not say who is a customer


@pytest.mark.parametrize("kind", ["order", "profile", "login"])
def test_app_reports_scans_only(app, customer, kind):
    assert error(report_action(app, customer, kind)) == (403, "FORBIDDEN")


def test_hub_reports_orders(hub, brand, customer):
    factories.earning_rule(brand, "order-complete", 10, "percentage")

    data = report_action(hub, customer, "order", order={"orderId": "A1", "subtotal": 55.5, "discount": 0.5}).json()[
        "data"
    ]

    assert data["points_earned"] == 6  # 10 percent of 55, halves up
    assert LoyaltyTransaction.objects.get().reason_id == "order:A1"


def test_action_that_earns_nothing_is_rejected(hub, customer):
    assert error(report_action(hub, customer, "login")) == (422, "NOT_ELIGIBLE")


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


# --- 4.1: what is rejected ------------------------------------------------------------------------------------------


def test_second_request_for_a_code_is_a_conflict_and_changes_nothing(app, brand, customer):
    code = factories.code(brand, scan_limit=None)
    app.credit(customer, code)

    response = app.credit(customer, code)

    assert error(response) == (409, "POINTS_ALREADY_CLAIMED")
    assert factories.account(customer, brand).points == 10
    assert LoyaltyTransaction.objects.count() == 1


def test_code_at_its_scan_limit_earns_nothing(api, app, brand, customer):
    code = factories.code(brand)
    other = factories.customer(brand)
    api.as_customer(other).app().credit(other, code)

    assert error(app.credit(customer, code)) == (409, "SCAN_LIMIT_REACHED")


def test_recalled_product_earns_nothing(app, brand, customer):
    code = factories.code(brand)
    recall_fields = {"recall_id": "R1", "contact": "c", "message": "m", "reason": "r"}
    recalls.recall_batch(batch=code.batch, at=code.created_at, **recall_fields)

    assert error(app.credit(customer, code)) == (409, "CODE_RECALLED")


@pytest.mark.parametrize("reason", ["unknown", "expired", "deactivated", "unassigned", "other brand"])
def test_code_that_is_not_valid_earns_nothing(app, brand, customer, reason):
    response = app.credit(customer, invalid_code(reason, brand))

    assert error(response) == (400, "AUTH_CODE_INVALID")
    assert response.json()["message"] == "The auth code is not valid or has expired."


def invalid_code(reason, brand):
    """A code for which customers get only a general error."""
    if reason == "unknown":
        return "NO-SUCH-CODE"
    if reason == "expired":
        return factories.expired_code(brand)
    if reason == "unassigned":
        return factories.code(brand, assigned=False)
    if reason == "other brand":
        return factories.code(factories.brand())
    code = factories.code(brand)
    factories.deactivate(codes=[code], at=code.created_at)
    return code


def test_unknown_user_is_not_found(hub, brand, customer):
    customer.pk = 2**40

    assert error(scan(hub, customer, factories.code(brand))) == (404, "USER_NOT_FOUND")


def test_customer_of_another_brand_is_not_found(hub, brand):
    assert error(scan(hub, factories.customer(factories.brand()), factories.code(brand))) == (404, "USER_NOT_FOUND")


def test_brand_without_a_running_programme_credits_nothing(app, brand, customer):
    brand.loyalty_active = False
    brand.save(update_fields=["loyalty_active"])

    assert error(app.credit(customer, factories.code(brand))) == (403, "LOYALTY_DISABLED")


def test_blocked_member_earns_nothing(app, brand, customer):
    UserPoints.objects.update(status=UserPoints.Status.BLOCKED)

    assert error(app.credit(customer, factories.code(brand))) == (403, "MEMBER_BLOCKED")


def test_action_of_a_customer_who_is_erased_at_the_same_time_is_rejected(hub, brand, customer, monkeypatch):
    other_customer, deliver = factories.customer(brand), delivery.deliver

    def deliver_after_erasure(leased):
        erase(other_customer, brand)
        return deliver(leased)

    monkeypatch.setattr(delivery, "deliver", deliver_after_erasure)

    assert error(scan(hub, other_customer, factories.code(brand))) == (404, "USER_NOT_FOUND")


def test_brand_with_manual_enrolment_requires_an_enrolled_customer(api, brand):
    brand.auto_enroll = False
    brand.save(update_fields=["auto_enroll"])
    unenrolled = factories.customer(brand, enrolled=False)

    response = api.as_customer(unenrolled).app().credit(unenrolled, factories.code(brand))

    assert error(response) == (422, "USER_NOT_ENROLLED")


def test_every_credential_is_required(app, brand, customer):
    code = factories.code(brand)

    errors = [error(app.without(name).credit(customer, code)) for name in ("api-key", "origin", "authorization")]

    assert errors == [(401, "API_KEY_INVALID"), (403, "ORIGIN_NOT_ALLOWED"), (401, "AUTHENTICATION_REQUIRED")]
    assert not Scan.objects.filter(brand=brand).exists()


# --- 4.1: idempotency ------------------------------------------------------------------------------------------------


def test_repeated_request_with_the_same_key_gets_the_same_response(app, brand, customer):
    factories.campaign(brand)
    code = factories.code(brand)
    first = app.credit(customer, code, idempotency_key="k1")

    again = app.credit(customer, code, idempotency_key="k1")

    assert (again.status_code, again.content) == (200, first.content)
    assert LoyaltyTransaction.objects.count() == 1


def test_error_is_repeated_for_the_same_key(app, brand, customer):
    code = factories.code(brand, assigned=False)
    first = app.credit(customer, code, idempotency_key="k1").json()
    code.batch.codes.update(product=factories.product(brand))

    again = app.credit(customer, code, idempotency_key="k1").json()

    assert (again["error"], again["message"]) == (first["error"], first["message"])


def test_key_cannot_be_reused_for_another_request(app, brand, customer):
    app.credit(customer, factories.code(brand), idempotency_key="k1")

    assert error(app.credit(customer, factories.code(brand), idempotency_key="k1")) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert LoyaltyTransaction.objects.count() == 1


def test_key_of_another_caller_is_independent(api, app, brand, customer):
    code = factories.code(brand, scan_limit=None)
    app.credit(customer, code, idempotency_key="k1")
    other = factories.customer(brand)

    response = api.as_customer(other).app().credit(other, code, idempotency_key="k1")

    assert response.json()["data"]["new_balance"] == 10
    assert LoyaltyTransaction.objects.count() == 2


# --- 4.1: rate limits ------------------------------------------------------------------------------------------------


def test_call_above_the_rate_limit_is_rejected_with_retry_after(api, brand, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "campaign_event": "100/minute"}
    busy_customer = factories.customer(brand, id=uuid.uuid4().int >> 66)  # has no calls counted in an earlier run
    app = api.as_customer(busy_customer).app()

    answers = [app.credit(busy_customer, "NO-SUCH-CODE") for _ in range(101)]

    assert [answer.status_code for answer in answers] == [400] * 100 + [429]
    assert 0 < int(answers[-1]["Retry-After"]) <= 60


def test_brand_cannot_use_up_the_rate_limit_of_another_brands_customer(api, app, brand, customer, settings):
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "campaign_event": "2/minute"}
    other = factories.brand()
    foreign_hub = api.as_customer(factories.customer(other), brand=other).hub(brand=other)

    for _ in range(5):
        foreign_hub.post(
            "brand/loyalty/campaign/event",
            {
                "user_id": customer.pk,
                "brand_id": other.pk,
                "type": "authenticator_scan",
                "product": {"authCode": "X"},
            },
        )

    assert app.credit(customer, factories.code(brand)).status_code == 200
