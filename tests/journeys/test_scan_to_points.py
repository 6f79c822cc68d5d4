"""A customer's scan over HTTP, until a real worker has credited the points."""

import time
from datetime import timedelta

import httpx
import pytest
from django.utils import timezone

from authcodes.models.scans import Scan
from authcodes.printing.qr import images
from authcodes.recalls import recalls
from campaigns.models.campaigns import RewardClaim, UserLoyaltyCampaign
from events.models import Event
from loyalty.models.ledger import LoyaltyTransaction
from tests.support import factories


def test_scan_earns_points_within_two_seconds(brand, make_customer, wait_for_events):
    customer, code = make_customer(), factories.code(brand)
    began = time.monotonic()

    answer = customer.verify(code, latitude=18.52, longitude=73.86)
    wait_for_events()

    assert time.monotonic() - began < 2
    assert answer.status_code == 200
    assert answer.json()["points_awarded"] == 10
    assert customer.points()["points"] == 10
    assert [(line["reason"], line["reason_id"]) for line in customer.transactions()] == [("earned", code.code)]


def test_notification_and_wallet_update_are_stored_as_events(brand, make_customer, wait_for_events):
    customer, code = make_customer(), factories.code(brand)

    customer.verify(code)
    wait_for_events()

    notification = Event.objects.get(detail_type="notify")
    assert (notification.detail["payload"]["template"], notification.detail["payload"]["points_earned"]) == (
        "NOTIFY_CAMPAIGN_SUCCESS",
        10,
    )
    assert notification.detail["arguments"] == {"brand_id": brand.pk, "user_id": customer.user.pk}
    assert Event.objects.get(detail_type="balance-changed").detail["payload"]["points"] == 10


def test_scan_has_its_final_state_afterwards(brand, make_customer, wait_for_events):
    customer, code = make_customer(), factories.code(brand)

    scan_id = customer.verify(code).json()["scan_id"]
    wait_for_events()

    state = customer.http.get(f"/api/v1/scans/{scan_id}", headers=customer.headers()).json()
    assert (state["points_status"], state["points_awarded"]) == ("awarded", 10)


def test_city_and_region_of_a_scan_are_stored_during_the_request(brand, make_customer):
    customer, code = make_customer(), factories.code(brand)

    customer.verify(code, latitude=48.8566, longitude=2.3522)

    scan = Scan.objects.get(auth_code=code)
    assert scan.location.startswith("Paris, ")
    code.refresh_from_db()
    assert code.first_scan_location == scan.location


def test_repeated_scan_by_a_customer_is_accepted_but_earns_nothing(brand, make_customer, wait_for_events):
    customer, code = make_customer(), factories.code(brand, scan_limit=None)

    customer.verify(code)
    wait_for_events()
    repeat = customer.verify(code).json()
    wait_for_events()

    assert (repeat["status"], repeat["scan_count"], repeat["first_scan"]) == ("success", 2, False)
    assert (repeat["points_status"], repeat["points_awarded"]) == ("already_claimed", 0)
    assert customer.points()["points"] == 10


def test_second_customer_of_a_single_use_code_is_warned_of_the_first_scan(brand, make_customer, wait_for_events):
    first, second, code = make_customer(), make_customer(), factories.code(brand)

    first.verify(code, latitude=48.8566, longitude=2.3522)
    assert Scan.objects.filter(auth_code=code, located_at__isnull=False).exists()
    answer = second.verify(code).json()
    wait_for_events()

    assert (answer["status"], answer["reason"]) == ("warning", "limit_reached")
    assert answer["first_scan_location"].startswith("Paris, ")
    assert answer["first_scan_date"].endswith("Z")
    assert second.points()["points"] == 0


def test_guest_scan_succeeds_but_earns_nothing(brand, stack, make_customer, wait_for_events):
    code = factories.code(brand)

    answer = httpx.post(f"{stack.url}/api/v1/auth-codes/scan", json={"code": code.code}).json()
    wait_for_events()

    assert (answer["status"], answer["points_status"]) == ("success", "guest")
    assert (answer["points_awarded"], answer["points_available"]) == (0, 10)
    assert not Event.objects.exists()


@pytest.mark.parametrize("reason", ["expired", "deactivated", "unassigned", "unknown", "other_brand"])
def test_every_invalid_code_gets_the_same_answer_and_the_scan_has_the_reason(brand, make_customer, reason):
    customer, code = make_customer(), _invalid_code(reason, brand)

    answer = customer.verify(code)

    assert answer.status_code == 400
    body = answer.json()
    assert (body["error"], body["status"], body["success"]) == ("AUTH_CODE_INVALID", "error", False)
    assert body["support_email"] == brand.support_email
    assert Scan.objects.get().reason == reason
    assert customer.points()["points"] == 0


def _invalid_code(reason, brand):
    if reason == "unknown":
        return "NOBODYS-CODE"
    if reason == "other_brand":
        return factories.code(factories.brand())
    if reason == "expired":
        return factories.expired_code(brand)
    if reason == "unassigned":
        return factories.code(brand, assigned=False)
    code = factories.code(brand)
    factories.deactivate(codes=[code], at=timezone.now())
    return code


def test_scan_of_a_recalled_product_warns_and_earns_nothing(brand, make_customer, wait_for_events):
    customer, code = make_customer(), factories.code(brand)
    recall_fields = {"recall_id": "R-17", "contact": "+49 30 1234", "message": "Do not eat it. Bring it back."}
    recalls.recall_batch(batch=code.batch, **recall_fields, reason="Glass splinters", at=timezone.now())

    answer = customer.verify(code).json()
    wait_for_events()

    assert (answer["status"], answer["reason"], answer["points_awarded"]) == ("warning", "recalled", 0)
    assert answer["recall"] == {"id": "R-17", "contact": "+49 30 1234", "message": "Do not eat it. Bring it back."}
    assert Scan.objects.filter(reason="recalled").count() == 1
    assert customer.points()["points"] == 0


def test_code_with_limit_three_earns_points_for_three_customers(brand, make_customer, wait_for_events):
    customers, code = [make_customer() for _ in range(4)], factories.code(brand, scan_limit=3)

    outcomes = [each.verify(code).json()["status"] for each in customers]
    wait_for_events()

    assert outcomes == ["success", "success", "success", "warning"]
    assert [each.points()["points"] for each in customers] == [10, 10, 10, 0]


def test_unlimited_code_earns_points_once_for_each_customer(brand, make_customer, wait_for_events):
    customers, code = [make_customer() for _ in range(3)], factories.code(brand, scan_limit=None)

    for each in customers * 2:
        each.verify(code)
    wait_for_events()

    assert [each.points()["points"] for each in customers] == [10, 10, 10]
    assert LoyaltyTransaction.objects.count() == 3


def test_reaching_a_threshold_raises_the_level_and_its_rate(brand, make_customer, wait_for_events):
    customer = make_customer()
    for _ in range(3):
        customer.verify(factories.code(brand))
        wait_for_events()

    assert (customer.points()["points"], customer.points()["level"]) == (30, "Silver")
    customer.verify(factories.code(brand))
    wait_for_events()

    assert customer.points()["points"] == 50
    level_updates = [
        event.outcome["level_updated"] for event in Event.objects.filter(detail_type="scan-auth").order_by("id")
    ]
    assert level_updates == [False, False, True, False]


def test_milestones_are_reached_once_and_auto_claimed_rewards_credit_points(brand, make_customer, wait_for_events):
    customer, campaign = make_customer(), factories.campaign(brand, target_value=3)
    factories.milestone(campaign, 1, reward_name="Sticker", auto_claim=False)
    factories.milestone(campaign, 2, reward_name="Bonus", reward_points=7)

    for _ in range(3):
        customer.verify(factories.code(brand))
        wait_for_events()

    assert UserLoyaltyCampaign.objects.get().progress == 3
    claims = RewardClaim.objects.order_by("milestone__threshold").values_list("milestone__reward_name", "status")
    assert list(claims) == [("Sticker", "available"), ("Bonus", "claimed")]
    assert customer.points()["points"] == 10 + 10 + 7 + 20


def test_inactive_programme_answers_scans_but_credits_nothing(brand, make_customer, wait_for_events):
    brand.loyalty_active = False
    brand.save()
    customer = make_customer()

    scan, claim = customer.verify(factories.code(brand)).json(), customer.claim(factories.code(brand))
    wait_for_events()

    assert (scan["status"], scan["points_status"]) == ("success", "not_eligible")
    assert (claim.status_code, claim.json()["error"]) == (403, "LOYALTY_DISABLED")
    assert customer.points()["points"] == 0


def test_brand_without_auto_enrolment_credits_members_only(brand, make_customer, wait_for_events):
    brand.auto_enroll = False
    brand.save()
    customer = make_customer(enrolled=False)

    scan, claim = customer.verify(factories.code(brand)).json(), customer.claim(factories.code(brand))
    wait_for_events()

    assert scan["points_status"] == "not_eligible"
    assert (claim.status_code, claim.json()["error"]) == (422, "USER_NOT_ENROLLED")
    assert customer.points()["enrolled"] is False


@pytest.mark.parametrize(("price", "percent", "points"), [("25.00", "10", 3), ("24.90", "10", 2), ("0.50", "100", 1)])
def test_percentage_of_the_price_is_rounded_half_up(brand, make_customer, wait_for_events, price, percent, points):
    brand.levels.update(scan_reward_type="percentage", scan_reward_value=percent)
    customer, product = make_customer(), factories.product(brand, retail_price=price)

    customer.verify(factories.code(brand, product=product))
    wait_for_events()

    assert customer.points()["points"] == points


def test_product_override_of_zero_falls_back_to_the_level(brand, make_customer, wait_for_events):
    customer, product = make_customer(), factories.product(brand, redeem_point_value=0)

    customer.verify(factories.code(brand, product=product))
    wait_for_events()

    assert customer.points()["points"] == 10


def test_override_of_the_code_precedes_those_of_batch_and_product(brand, make_customer, wait_for_events):
    customer, product = make_customer(), factories.product(brand, redeem_point_value=5)
    by_product = factories.code(brand, product=product)
    by_batch = factories.code(brand, product=product, points_per_scan=6)
    by_code = factories.code(brand, product=product, points_per_scan=6)
    type(by_code).objects.filter(pk=by_code.pk).update(points_per_scan=7)

    for code in (by_product, by_batch, by_code):
        customer.verify(code)
    wait_for_events()

    earned = {line["reason_id"]: line["points_earned"] for line in customer.transactions()}
    assert earned == {by_product.code: 5, by_batch.code: 6, by_code.code: 7}


def test_signed_code_earns_points_only_with_its_tag(brand, make_customer, wait_for_events):
    customer, code = make_customer(), factories.code(brand, signed=True)

    bare, tagged = customer.verify(code), customer.verify(images.printed(code))
    wait_for_events()

    assert (bare.status_code, tagged.json()["status"]) == (400, "success")
    assert customer.points()["points"] == 10


def test_scan_after_the_campaign_earns_nothing_if_the_batch_says_so(brand, make_customer, wait_for_events):
    over = factories.campaign(brand, ends_at=timezone.now() - timedelta(days=1))
    customer = make_customer()

    answer = customer.verify(factories.code(brand, campaign=over, after_campaign="nothing")).json()
    wait_for_events()

    assert (answer["status"], answer["reason"], answer["points_status"]) == (
        "success",
        "campaign_inactive",
        "not_eligible",
    )
    assert customer.points()["points"] == 0


def test_same_idempotency_key_gets_the_same_answer(brand, make_customer):
    customer, code = make_customer(), factories.code(brand)

    first = customer.claim(code, **{"Idempotency-Key": "order-1"})
    again = customer.claim(code, **{"Idempotency-Key": "order-1"})
    other = customer.claim(factories.code(brand), **{"Idempotency-Key": "order-1"})

    assert (first.status_code, again.json()["data"]) == (200, first.json()["data"])
    assert (other.status_code, other.json()["error"]) == (422, "IDEMPOTENCY_KEY_REUSED")
    assert customer.points()["points"] == 10


def test_daily_limit_caps_points_and_leaves_the_code_claimable(brand, make_customer):
    brand.daily_point_limit = 15
    brand.save()
    customer, code = make_customer(), factories.code(brand)
    customer.claim(factories.code(brand))

    capped = customer.claim(factories.code(brand)).json()["data"]
    nothing = customer.claim(code).json()["data"]

    assert (capped["points_earned"], capped["limit"]["period"], capped["limit"]["max"]) == (5, "day", 15)
    assert (nothing["points_earned"], nothing["new_balance"], nothing["transaction_id"]) == (0, 15, None)
    brand.daily_point_limit = None
    brand.save()
    assert customer.claim(code).json()["data"]["points_earned"] == 10
