"""Taking rewards, claiming those of milestones, and their codes at the till: over the API."""

from datetime import timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
from django.db import connection
from django.utils import timezone

from brands.audit_log import AuditContext
from brands.models.audit import AuditLogEntry
from campaigns.models.campaigns import RewardClaim
from campaigns.progress import consistency as progress
from core import json_values
from core.errors import Invalid
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.levels import BrandLevel
from loyalty.models.rewards import Redemption, Reward
from loyalty.points import consistency
from loyalty.rewards import cancellation, till
from loyalty.wallets import passes
from tests.loyalty.integrations import webhooks
from tests.support import factories
from tests.support.api import error


@pytest.fixture
def mine(api, customer):
    return api.as_customer(customer)


@pytest.fixture(autouse=True)
def books_are_right(db):
    yield
    with connection.cursor() as cursor:
        for check, statement in {**consistency.CHECKS, **progress.CHECKS}.items():
            cursor.execute(statement)
            assert (check, cursor.fetchall()) == (check, [])


def redeem(mine, reward, key=None):
    return mine.post(f"customer/loyalty/rewards/{reward.pk}/redeem", idempotency_key=key or str(uuid4()))


def hold_a_pass(customer, brand):
    passes.issue(account=factories.account(customer, brand), platform="apple", at=timezone.now())


def balance(customer):
    return UserPoints.objects.get(user=customer).points


# --- Redeem ----------------------------------------------------------------------------------------------------------


def test_reward_is_taken_for_points(mine, brand, customer):
    factories.points(customer, brand, 30)
    reward = factories.reward(brand, name="A mug", cost=12.5, stock=3, code_days=10)

    response = redeem(mine, reward)

    made = Redemption.objects.get()
    assert response.status_code == 201
    assert response.json()["data"] == {
        "redemption_id": made.pk,
        "code": "-".join(made.code[start : start + 4] for start in (0, 4, 8, 12)),
        "is_partner_code": False,
        "cost": 12.5,
        "new_balance": 17.5,
        "expires_at": (made.created_at + timedelta(days=10)).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "undo_until": json_values.iso(made.created_at + timedelta(minutes=5)),
    }
    line = LoyaltyTransaction.objects.get(reason="redeemed")
    assert (line.reason_id, line.points_redeemed, line.note) == (
        f"redeem:{made.pk}",
        Decimal("12.5"),
        "Redeemed: A mug",
    )
    assert (balance(customer), Reward.objects.get().stock) == (Decimal("17.5"), 2)


def test_wallets_are_told_of_the_new_balance(mine, brand, customer):
    factories.points(customer, brand, 30)
    hold_a_pass(customer, brand)

    redeem(mine, factories.reward(brand, cost=10))

    event = Event.objects.get(detail_type="balance-changed")
    assert event.status == "pending"
    assert event.detail["arguments"] == {"brand_id": brand.pk, "user_id": customer.pk}
    assert event.detail["payload"]["points"] == 20
    assert event.detail["payload"]["cause"] == f"redeem:{Redemption.objects.get().pk}"


def test_without_a_pass_nobody_works_on_a_new_balance(mine, brand, customer):
    factories.points(customer, brand, 30)

    redeem(mine, factories.reward(brand, cost=10))
    cancellation.cancel(redemption=Redemption.objects.get(), audit_context=deed(brand))

    assert [event.status for event in Event.objects.filter(detail_type="balance-changed")] == ["ignored"] * 2


def test_webhooks_that_listen_are_told(mine, brand, customer):
    factories.points(customer, brand, 30)
    reward = factories.reward(brand, cost=10)
    webhooks.endpoint(brand, "https://hooks.example.com/x", ["reward.redeemed"])

    redeem(mine, reward)

    told = Event.objects.get(detail_type="announce").detail["payload"]
    assert told["type"] == "reward.redeemed"
    assert told["data"] == {
        "user_id": customer.pk,
        "redemption_id": Redemption.objects.get().pk,
        "reward_id": reward.pk,
        "points": 10,
        "new_balance": 20,
    }


def test_same_key_is_answered_the_same_and_costs_once(mine, brand, customer):
    factories.points(customer, brand, 30)
    reward = factories.reward(brand, cost=10)

    first, second = redeem(mine, reward, "key"), redeem(mine, reward, "key")

    assert first.json() == second.json()
    assert balance(customer) == 20


def test_same_key_for_another_reward_is_refused(mine, brand, customer):
    factories.points(customer, brand, 30)
    redeem(mine, factories.reward(brand), "key")

    assert error(redeem(mine, factories.reward(brand), "key")) == (422, "IDEMPOTENCY_KEY_REUSED")


def test_refusal_leaves_the_key_usable(mine, brand, customer):
    reward = factories.reward(brand, cost=10)
    assert error(redeem(mine, reward, "key")) == (409, "NOT_ENOUGH_POINTS")
    factories.points(customer, brand, 10)

    assert redeem(mine, reward, "key").status_code == 201


def test_key_is_required(mine, brand):
    response = mine.post(f"customer/loyalty/rewards/{factories.reward(brand).pk}/redeem")

    assert error(response) == (400, "VALIDATION_ERROR")


def test_what_cannot_be_had_says_why_and_changes_nothing(mine, brand, customer, subtests):
    factories.points(customer, brand, 30)
    gold = factories.level(brand, "Gold", 500)
    now = timezone.now()
    for wanted, terms in {
        "NOT_ENOUGH_POINTS": {"cost": 30.01},
        "OUT_OF_STOCK": {"stock": 0},
        "LEVEL_TOO_LOW": {"minimum_level": gold},
        "REWARD_NOT_AVAILABLE": {"valid_from": now + timedelta(hours=1)},
    }.items():
        with subtests.test(wanted):
            assert error(redeem(mine, factories.reward(brand, **terms))) == (409, wanted)
    for terms in ({"valid_until": now}, {"is_active": False}):
        assert error(redeem(mine, factories.reward(brand, **terms))) == (409, "REWARD_NOT_AVAILABLE")
    assert (balance(customer), Redemption.objects.count()) == (30, 0)


def test_missing_points_are_told(mine, brand, customer):
    factories.points(customer, brand, 30)

    assert redeem(mine, factories.reward(brand, cost=42.5)).json()["details"] == {"missing": 12.5}


def test_limit_per_member_counts_what_was_not_cancelled(mine, brand, customer):
    factories.points(customer, brand, 100)
    reward = factories.reward(brand, limit_per_member=1)
    redeem(mine, reward)
    assert error(redeem(mine, reward)) == (409, "REDEMPTION_LIMIT_REACHED")
    cancellation.cancel(redemption=Redemption.objects.get(), audit_context=deed(brand))

    assert redeem(mine, reward).status_code == 201


def test_unknown_and_other_brands_rewards_are_not_found(mine, brand, customer):
    factories.points(customer, brand, 100)
    for pk in (factories.reward(factories.brand()).pk, 0, 10**18 - 1):
        assert error(mine.post(f"customer/loyalty/rewards/{pk}/redeem", idempotency_key="k")) == (
            404,
            "REWARD_NOT_FOUND",
        )


def test_who_is_no_member_has_no_points(api, brand):
    mine = api.as_customer(factories.customer(brand, enrolled=False))

    assert error(redeem(mine, factories.reward(brand))) == (409, "NOT_ENOUGH_POINTS")
    assert error(redeem(mine, factories.reward(factories.brand()))) == (404, "REWARD_NOT_FOUND")


def test_blocked_members_and_switched_off_programmes_redeem_nothing(mine, brand, customer):
    factories.points(customer, brand, 100)
    UserPoints.objects.filter(user=customer).update(status="blocked")
    assert error(redeem(mine, factories.reward(brand))) == (403, "MEMBER_BLOCKED")
    brand.loyalty_active = False
    brand.save(update_fields=["loyalty_active"])

    assert error(redeem(mine, factories.reward(brand))) == (403, "LOYALTY_DISABLED")


def test_redemption_takes_few_statements(mine, brand, customer, django_assert_num_queries):
    factories.points(customer, brand, 100)
    reward = factories.reward(brand, stock=5)
    redeem(mine, reward)

    with django_assert_num_queries(8):  # user, account; savepoint, lock, facts, write, read back, release
        redeem(mine, reward)


# --- Undo ------------------------------------------------------------------------------------------------------------


def undo(mine, redemption):
    return mine.post(f"customer/loyalty/redemptions/{redemption.pk}/undo")


def test_reward_taken_by_mistake_is_given_back_once(mine, brand, customer):
    factories.points(customer, brand, 30)
    reward = factories.reward(brand, name="A mug", cost=12.5, stock=3)
    taken = factories.redemption(customer, reward)

    first, second = undo(mine, taken), undo(mine, taken)

    assert first.json() == second.json()
    assert first.json()["data"] == {"redemption_id": taken.pk, "points": 12.5, "new_balance": 30}
    reward.refresh_from_db()
    assert (reward.stock, balance(customer)) == (3, 30)
    line = LoyaltyTransaction.objects.get(reason_id=f"redeem-undo:{taken.pk}")
    assert (line.reason, line.points_earned) == ("earned", Decimal("12.5"))
    assert Redemption.objects.get().status == "cancelled"


def test_undo_is_offered_for_five_minutes(mine, brand, customer):
    factories.points(customer, brand, 30)
    answer = redeem(mine, factories.reward(brand)).json()["data"]
    taken = Redemption.objects.get()
    end = taken.created_at + timedelta(minutes=5)

    [row] = mine.get("customer/loyalty/redemptions").json()["data"]
    assert row["undo_until"] == answer["undo_until"] == json_values.iso(end)

    Redemption.objects.update(created_at=timezone.now() - timedelta(minutes=5))
    assert mine.get("customer/loyalty/redemptions").json()["data"][0]["undo_until"] is None
    assert error(undo(mine, taken)) == (409, "UNDO_NOT_POSSIBLE")
    assert (Redemption.objects.get().status, balance(customer)) == ("issued", 20)


def test_used_code_cannot_be_given_back(mine, brand, customer):
    factories.points(customer, brand, 30)
    taken = factories.redemption(customer, factories.reward(brand))
    till.use(redemption=taken, at=timezone.now(), request=uuid4())

    assert error(undo(mine, taken)) == (409, "REDEMPTION_USED")
    assert balance(customer) == 20


def test_nobody_gives_back_what_others_took(api, mine, brand, customer):
    factories.points(customer, brand, 30)
    taken = factories.redemption(customer, factories.reward(brand))
    colleague, elsewhere = factories.customer(brand), factories.customer(factories.brand())

    for other in (colleague, elsewhere):
        assert error(undo(api.as_customer(other), taken)) == (404, "NOT_FOUND")
    assert balance(customer) == 20


def test_blocked_member_gives_nothing_back(mine, brand, customer):
    factories.points(customer, brand, 30)
    taken = factories.redemption(customer, factories.reward(brand))
    UserPoints.objects.update(status="blocked")

    assert error(undo(mine, taken)) == (403, "MEMBER_BLOCKED")


def test_thing_of_a_milestone_is_not_given_back(mine, brand, reached):
    reached(auto_claim=True)

    assert error(undo(mine, Redemption.objects.get())) == (409, "UNDO_NOT_POSSIBLE")


# --- Claim -----------------------------------------------------------------------------------------------------------


def claim(mine, milestone):
    return mine.post(f"customer/loyalty/milestones/{milestone.pk}/claim")


@pytest.fixture
def reached(mine, brand, deliver):
    """A milestone that the customer reached; its reward waits."""

    def reach(*, auto_claim=False, **terms):
        milestone = factories.milestone(factories.campaign(brand), 1, auto_claim=auto_claim, **terms)
        mine.verify(factories.code(brand))
        deliver()
        return milestone

    return reach


@pytest.mark.parametrize("auto_claim", [True, False])
def test_thing_is_claimed_once_and_gets_a_code(mine, reached, auto_claim):
    milestone = reached(reward_name="A sticker", auto_claim=auto_claim)

    first, second = claim(mine, milestone), claim(mine, milestone)

    made = Redemption.objects.get()
    assert first.json() == second.json()
    assert first.json()["data"]["redemption_id"] == made.pk
    assert (made.name, made.cost, made.milestone_id) == ("A sticker", 0, milestone.pk)
    assert RewardClaim.objects.get().status == "claimed"


def test_thing_that_is_claimed_automatically_has_its_code_without_being_claimed(mine, reached):
    milestone = reached(reward_name="A sticker", auto_claim=True)

    made = Redemption.objects.get()
    assert (made.name, made.cost, made.milestone_id, made.status) == ("A sticker", 0, milestone.pk, "issued")
    [mine_now] = mine.get("customer/loyalty/redemptions").json()["data"]
    assert (mine_now["milestone_id"], mine_now["state"]) == (milestone.pk, "good")
    assert RewardClaim.objects.get().status == "claimed"
    event = Event.objects.get(detail_type="reward-claimed")
    assert event.status == "done"


def deliver_grant_again(deliver):
    rows = Event.objects.filter(detail_type="reward-claimed")
    rows.update(status="pending", due_at=timezone.now(), finished_at=None, attempts=0)
    deliver()


def test_code_of_a_thing_is_made_once_however_often_its_event_is_delivered(reached, deliver):
    reached(auto_claim=True)

    deliver_grant_again(deliver)

    assert Redemption.objects.count() == 1
    assert Event.objects.get(detail_type="reward-claimed").status == "done"


def test_thing_of_a_blocked_member_waits_until_they_are_unblocked(reached, brand, customer, deliver):
    reached(auto_claim=True)
    Redemption.objects.all().delete()
    UserPoints.objects.update(status="blocked")

    deliver_grant_again(deliver)
    assert (Event.objects.get(detail_type="reward-claimed").status, Redemption.objects.count()) == ("pending", 0)

    UserPoints.objects.update(status="active")
    deliver_grant_again(deliver)
    assert Redemption.objects.count() == 1


def test_the_notice_of_an_accrual_tells_of_the_thing(mine, reached):
    reached(reward_name="A sticker", auto_claim=True)

    notification = Event.objects.get(detail_type="notify")
    assert [reward["reward_name"] for reward in notification.detail["payload"]["rewards"]] == ["A sticker"]


def test_the_first_path_of_a_claim_answers_the_same(mine, brand, reached):
    milestone = reached(reward_name="A sticker")
    factories.reward(brand)

    first = mine.post(f"customer/loyalty/rewards/{milestone.pk}/claim")

    assert (first.status_code, first.json()) == (200, claim(mine, milestone).json())
    assert error(mine.post("customer/loyalty/rewards/999999/claim")) == (404, "REWARD_NOT_FOUND")


def test_points_are_claimed_once_and_come_as_all_points_do(mine, customer, reached, deliver):
    milestone = reached(reward_points=70)
    before = balance(customer)

    answers = [claim(mine, milestone).json()["data"] for _ in range(2)]
    deliver()

    assert (
        answers[0]
        == answers[1]
        == {
            "milestone_id": milestone.pk,
            "reward_name": "A mug",
            "points": 70,
            "redemption_id": None,
            "code": None,
            "picture": None,
        }
    )
    assert balance(customer) == before + 70


def test_what_is_not_reached_cannot_be_claimed(mine, brand):
    milestone = factories.milestone(factories.campaign(brand), 3, auto_claim=False)
    elsewhere = factories.milestone(factories.campaign(factories.brand()), 1)

    assert error(claim(mine, milestone)) == (409, "REWARD_NOT_AVAILABLE")
    assert error(claim(mine, elsewhere)) == (404, "REWARD_NOT_FOUND")


# --- Till ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def redemption(brand, customer):
    factories.points(customer, brand, 30)
    return factories.redemption(customer, factories.reward(brand, name="A mug", cost=10, stock=3))


def test_till_sees_what_a_code_is_for_and_not_whose_it_is(api, customer, redemption):
    data = api.hub().post("redemptions/check", {"code": redemption.code.lower()}).json()["data"]

    assert (data["name"], data["state"], data["cost"]) == ("A mug", "good", 10)
    assert customer.email not in str(data)
    assert data["member"].endswith("@example.com")


def test_code_is_used_once(api, redemption):
    hub = api.hub()

    used = hub.post("redemptions/use", {"code": redemption.code})
    again = hub.post("redemptions/use", {"code": redemption.code})

    assert used.json()["data"]["state"] == "used"
    assert error(again) == (409, "REDEMPTION_USED")
    assert hub.post("redemptions/check", {"code": redemption.code}).json()["data"]["state"] == "used"


def test_same_request_is_told_again_that_the_code_is_used(api, redemption):
    hub = api.hub()
    first = hub.post("redemptions/use", {"code": redemption.code}, idempotency_key="till-7-receipt-9")
    again = hub.post("redemptions/use", {"code": redemption.code}, idempotency_key="till-7-receipt-9")

    assert (first.status_code, again.json()) == (200, first.json())
    assert error(hub.post("redemptions/use", {"code": redemption.code}, idempotency_key="another")) == (
        409,
        "REDEMPTION_USED",
    )


def test_expired_and_cancelled_codes_are_worth_nothing(api, brand, customer, redemption):
    factories.points(customer, brand, 30)
    old = factories.redemption(customer, factories.reward(brand, code_days=1), at=timezone.now() - timedelta(days=2))
    cancellation.cancel(redemption=redemption, audit_context=deed(brand))
    hub = api.hub()

    assert error(hub.post("redemptions/use", {"code": old.code})) == (409, "REDEMPTION_EXPIRED")
    assert error(hub.post("redemptions/use", {"code": redemption.code})) == (409, "REDEMPTION_CANCELLED")


def test_code_of_a_blocked_member_is_good_again_once_they_are_let_in(api, brand, redemption):
    hub = api.hub()
    brand.members.update(status="blocked")

    state = hub.post("redemptions/check", {"code": redemption.code}).json()["data"]["state"]
    refused = hub.post("redemptions/use", {"code": redemption.code})
    brand.members.update(status="active")
    used = hub.post("redemptions/use", {"code": redemption.code})

    assert (state, error(refused)) == ("blocked", (403, "MEMBER_BLOCKED"))
    assert used.json()["data"]["state"] == "used"


def test_request_that_used_a_code_is_told_so_though_the_member_is_blocked_since(api, brand, redemption):
    hub = api.hub()
    first = hub.post("redemptions/use", {"code": redemption.code}, idempotency_key="till-7-receipt-9")
    brand.members.update(status="blocked")

    again = hub.post("redemptions/use", {"code": redemption.code}, idempotency_key="till-7-receipt-9")

    assert again.json() == first.json()


def test_codes_of_others_and_slips_are_unknown(api, redemption):
    other = factories.brand()
    slip = redemption.code[:-1] + ("A" if redemption.code[-1] != "A" else "B")

    for caller, code in [(api.hub(of=other), redemption.code), (api.hub(), slip), (api.hub(), "x")]:
        assert error(caller.post("redemptions/use", {"code": code})) == (404, "REDEMPTION_CODE_UNKNOWN")


def test_only_a_hub_looks_codes_up(api, mine, redemption):
    for path in ("redemptions/check", "redemptions/use"):
        assert error(mine.post(path, {"code": redemption.code})) == (401, "API_KEY_INVALID")
        assert error(mine.app().post(path, {"code": redemption.code})) == (403, "FORBIDDEN")


def test_customer_reads_what_they_took(api, mine, brand, redemption):
    data = mine.get("customer/loyalty/redemptions").json()["data"]

    assert [(each["redemption_id"], each["name"], each["state"]) for each in data] == [(redemption.pk, "A mug", "good")]
    assert api.as_customer(factories.customer(brand)).get("customer/loyalty/redemptions").json()["data"] == []
    assert mine.get("customer/loyalty/redemptions", status="issued").json()["data"] == data
    assert mine.get("customer/loyalty/redemptions", status="used").json()["data"] == []


# --- Staff -----------------------------------------------------------------------------------------------------------


def deed(brand, reason="A mistake", at=None):
    return AuditContext(factories.user(is_staff=True), at or timezone.now(), "", reason)


def test_cancelled_redemption_gives_points_and_stock_back_but_no_lifetime(brand, customer, redemption):
    account = UserPoints.objects.get(user=customer)
    lifetime = account.lifetime
    brand.daily_point_limit = 30
    hold_a_pass(customer, brand)

    cancellation.cancel(redemption=redemption, audit_context=deed(brand))

    account.refresh_from_db()
    assert (account.points, account.lifetime, account.redeemed) == (30, lifetime, 0)
    assert Reward.objects.get().stock == 3
    line = LoyaltyTransaction.objects.latest("pk")
    assert (line.reason, line.reason_id) == ("earned", f"redeem-undo:{redemption.pk}")
    assert AuditLogEntry.objects.get().reason == "A mistake"
    told = Event.objects.filter(detail_type="balance-changed").order_by("pk")
    assert [event.status for event in told] == ["ignored", "pending"]


def test_points_that_came_back_take_nobody_to_a_level(api, mine, brand, customer, deliver):
    BrandLevel.objects.all().delete()
    factories.level(brand, "Bronze", 0, value=1)
    factories.level(brand, "Silver", 40)
    factories.points(customer, brand, 30)
    for _ in range(3):
        redemption = factories.redemption(customer, factories.reward(brand, cost=30))
        cancellation.cancel(redemption=redemption, audit_context=deed(brand))

    mine.verify(factories.code(brand))
    deliver()

    data = mine.get("customer/loyalty/points").json()["data"]
    assert (data["points"], data["lifetime"], data["redeemed"], data["level"]) == (31, 31, 0, "Bronze")


def test_points_that_came_back_use_up_no_limit(mine, brand, customer, redemption, deliver):
    brand.daily_point_limit = 45
    brand.save(update_fields=["daily_point_limit"])
    cancellation.cancel(redemption=redemption, audit_context=deed(brand))

    mine.verify(factories.code(brand))  # 10 points, beside the 30
    deliver()

    assert balance(customer) == 40


def test_used_codes_are_not_cancelled_and_nothing_twice(brand, redemption):
    cancellation.cancel(redemption=redemption, audit_context=deed(brand))
    with pytest.raises(Invalid):
        cancellation.cancel(redemption=redemption, audit_context=deed(brand))
    with pytest.raises(Invalid):
        cancellation.undo_use(redemption=redemption, audit_context=deed(brand))


def test_use_is_taken_back_within_minutes_and_with_a_reason(settings, brand, redemption):
    now = timezone.now()
    till.use(redemption=redemption, at=now, request=uuid4())
    with pytest.raises(Invalid):
        cancellation.undo_use(redemption=redemption, audit_context=deed(brand, reason=" "))
    with pytest.raises(Invalid):
        late = now + timedelta(minutes=settings.REDEMPTION_UNDO_MINUTES)
        cancellation.undo_use(redemption=redemption, audit_context=deed(brand, at=late))

    cancellation.undo_use(redemption=redemption, audit_context=deed(brand))

    redemption.refresh_from_db()
    assert (redemption.status, redemption.used_at, redemption.used_request) == ("issued", None, None)
