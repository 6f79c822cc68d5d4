"""Events for an account that was merged count for the target, exactly once."""

from datetime import timedelta

import pytest
from django.utils import timezone

from authcodes.models.scans import Scan
from campaigns.models.campaigns import RewardClaim, UserLoyaltyCampaign
from events import worker
from events.models import Event
from loyalty.errors import MergeUndoNotPossible
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.orders import CreditedOrder
from loyalty.models.pending import PendingPoints
from tests.loyalty.merges.conftest import merge_accounts, undo_merge
from tests.support import factories, shop
from tests.support.api import error

pytestmark = pytest.mark.django_db


@pytest.fixture
def ten_percent_rule(brand):
    return factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")


def balances(brand, *members):
    assert shop.inconsistencies() == []
    return [factories.account(each, brand).points for each in members]


def test_order_of_the_source_is_credited_to_the_target(brand, target, source, ten_percent_rule):
    merge_accounts(brand, target, source)

    event = shop.buy(brand, source)

    assert (event.status, event.detail["arguments"]["user_id"]) == ("done", target.pk)
    assert balances(brand, target, source) == [10, 0]
    assert CreditedOrder.objects.get().user == target


def test_order_credited_before_the_merge_is_not_credited_again(brand, target, source, ten_percent_rule):
    first = shop.buy(brand, source)
    merge_accounts(brand, target, source)

    again = [shop.buy(brand, customer) for customer in (source, target)]

    assert first.status == "done"
    assert {each.outcome["error"] for each in again} == {"POINTS_ALREADY_CLAIMED"}
    assert balances(brand, target, source) == [10, 0]


@pytest.mark.parametrize("sender", ["target", "source"])
def test_return_of_an_order_from_before_the_merge_reverses_its_points(
    brand, target, source, ten_percent_rule, sender, request
):
    shop.buy(brand, source)
    account_merge = merge_accounts(brand, target, source)

    event = shop.return_order(brand, request.getfixturevalue(sender))

    assert (event.status, event.outcome["points_reversed"]) == ("done", 10)
    assert balances(brand, target, source) == [0, 0]
    with pytest.raises(MergeUndoNotPossible):
        undo_merge(account_merge)


def test_return_of_another_members_order_is_rejected(brand, target, source, ten_percent_rule):
    shop.buy(brand, factories.customer(brand))
    merge_accounts(brand, target, source)

    assert shop.return_order(brand, source).outcome["error"] == "ORDER_ALREADY_CREDITED"


def test_pending_points_are_released_to_the_target(brand, target, source, ten_percent_rule):
    brand.order_points, brand.order_points_days = "after_days", 14
    brand.save()
    shop.buy(brand, source)
    assert shop.point_totals(brand, source) == (0, 10, 0)
    account_merge = merge_accounts(brand, target, source)
    assert [shop.point_totals(brand, each) for each in (target, source)] == [(0, 10, 0), (0, 0, 0)]
    undo_merge(account_merge)
    assert [shop.point_totals(brand, each) for each in (target, source)] == [(0, 0, 0), (0, 10, 0)]
    account_merge = merge_accounts(brand, target, source)

    shop.deliver(brand, source)

    assert [shop.point_totals(brand, each) for each in (target, source)] == [(10, 0, 0), (0, 0, 0)]
    assert PendingPoints.objects.get().user_point.user == target
    with pytest.raises(MergeUndoNotPossible, match="released or cancelled"):
        undo_merge(account_merge)


def test_return_after_the_merge_cancels_pending_points(brand, target, source, ten_percent_rule):
    brand.order_points, brand.order_points_days = "after_days", 14
    brand.save()
    shop.buy(brand, source)
    merge_accounts(brand, target, source)

    assert shop.return_order(brand, source).outcome["pending_cancelled"] == 10
    assert shop.point_totals(brand, target) == (0, 0, 0)


def test_scan_pending_at_the_merge_is_credited_to_the_target(api, brand, target, source):
    code = factories.code(brand)
    assert api.as_customer(source).verify(code).json()["points_status"] == "pending"
    merge_accounts(brand, target, source)

    worker.drain()

    assert Scan.objects.get().points_status == "awarded"
    assert Scan.objects.get().user == target
    assert balances(brand, target, source) == [10, 0]


def test_many_scans_pending_at_the_merge_are_all_credited_to_the_target(api, brand, target, source):
    codes = [factories.code(brand) for _ in range(5)]
    for code in codes:
        api.as_customer(source).verify(code)
    merge_accounts(brand, target, source)

    worker.drain()

    assert balances(brand, target, source) == [50, 0]
    assert not Event.objects.filter(status="pending", detail_type="scan-auth").exists()


def test_repeated_request_for_the_source_gets_the_same_answer(api, brand, target, source):
    merge_accounts(brand, target, source)
    hub, code = api.as_customer(source).hub(), factories.code(brand)

    first, again = (hub.credit(source, code, idempotency_key="k1") for _ in range(2))

    assert (again.status_code, again.json()) == (200, first.json())
    assert error(hub.credit(factories.customer(brand), code, idempotency_key="k1")) == (422, "IDEMPOTENCY_KEY_REUSED")


def test_scan_of_the_source_reported_by_the_hub_is_credited_to_the_target(api, brand, target, source):
    merge_accounts(brand, target, source)

    answer = api.as_customer(source).hub().credit(source, factories.code(brand))

    assert answer.status_code == 200
    assert balances(brand, target, source) == [10, 0]


def test_code_earns_once_for_both_accounts(api, brand, target, source, deliver_events):
    code = factories.code(brand, scan_limit=5)
    api.as_customer(source).verify(code)
    deliver_events()
    merge_accounts(brand, target, source)

    assert api.as_customer(target).verify(code).json()["points_status"] == "already_claimed"
    deliver_events()
    assert error(api.as_customer(target).hub().credit(target, code)) == (409, "POINTS_ALREADY_CLAIMED")
    assert error(api.as_customer(source).hub().credit(source, code)) == (409, "POINTS_ALREADY_CLAIMED")
    assert balances(brand, target, source) == [10, 0]


def test_undo_leaves_points_earned_since_the_merge(api, brand, target, source, ten_percent_rule):
    code = factories.code(brand)
    api.as_customer(source).verify(code)
    account_merge = merge_accounts(brand, target, source)
    worker.drain()
    shop.buy(brand, source)
    undo_merge(account_merge)

    assert balances(brand, target, source) == [20, 0]
    shop.buy(brand, source, order_id="B-1")
    assert balances(brand, target, source) == [20, 10]


def test_profile_field_completed_before_the_merge_does_not_earn_again(brand, target, source):
    factories.earning_rule(brand, "log-user-profile-update", value=3)
    profile = {"type": "profile", "changedFields": ["phone"], "completedFields": ["phone"]}
    shop.report(brand, source, "log-user-profile-update", profile)
    merge_accounts(brand, target, source)

    again = shop.report(brand, source, "log-user-profile-update", profile)
    other_profile = {"type": "profile", "changedFields": ["city"], "completedFields": ["city"]}
    shop.report(brand, source, "log-user-profile-update", other_profile)

    assert again.outcome["error"] == "POINTS_ALREADY_CLAIMED"
    assert balances(brand, target, source) == [6, 0]


def test_login_counts_once_a_day_for_both_accounts(brand, target, source):
    factories.earning_rule(brand, "log-user-login", value=3)
    login = {"type": "login", "channel": "app"}
    shop.report(brand, source, "log-user-login", login)
    merge_accounts(brand, target, source)

    again = [shop.report(brand, customer, "log-user-login", login) for customer in (source, target)]
    yesterday = timezone.now() - timedelta(days=1)
    shop.report(brand, source, "log-user-login", login, at=yesterday)

    assert [each.outcome["error"] for each in again] == ["POINTS_ALREADY_CLAIMED"] * 2
    assert balances(brand, target, source) == [6, 0]


# --- Logins ----------------------------------------------------------------------------------------------------------

PASSWORD = "a long pass phrase"


def log_in(api, brand, user):
    return api.guest().post("auth/token", {"email": user.email, "password": PASSWORD, "brand_id": brand.pk})


@pytest.fixture
def source_with_password(source):
    source.set_password(PASSWORD)
    source.save()
    return source


def test_source_cannot_log_in_until_the_undo(api, brand, target, source_with_password):
    """Staff who merge two accounts must not give one user a session of the other."""
    old_session = api.as_customer(source_with_password)
    account_merge = merge_accounts(brand, target, source_with_password)

    assert error(old_session.get("customer/loyalty/points")) == (401, "TOKEN_INVALID")
    assert error(log_in(api, brand, source_with_password)) == (403, "ACCOUNT_MERGED")
    undo_merge(account_merge)
    assert log_in(api, brand, source_with_password).json()["user_id"] == source_with_password.pk


def test_sessions_at_other_brands_stay_valid(brand, target, source, api):
    other_brand = factories.brand()
    UserPoints.objects.create(user=source, brand=other_brand)
    other_session = api.as_customer(source, brand=other_brand)
    merge_accounts(brand, target, source)

    assert other_session.get("customer/loyalty/points").status_code == 200


# --- Campaigns -------------------------------------------------------------------------------------------------------


def progress(user):
    return [(each.progress, each.round, each.milestones_achieved) for each in user.campaign_progress.all()]


@pytest.fixture
def order_campaign(brand, ten_percent_rule):
    campaign = factories.campaign(brand, type="order", target_value=5)
    return campaign, *(
        factories.milestone(campaign, at, reward_name=f"Step {at}", reward_points=1, auto_claim=True)
        for at in (2, 3, 5)
    )


def place_orders(brand, customer, *order_ids):
    for each in order_ids:
        shop.buy(brand, customer, order_id=each)


def test_progress_is_added_up_and_no_milestone_pays_twice(brand, target, source, order_campaign):
    _campaign, second, third, _fifth = order_campaign
    place_orders(brand, target, "K-1", "K-2")
    place_orders(brand, source, "E-1", "E-2")
    paid = LoyaltyTransaction.objects.filter(reason_id__startswith="milestone:")
    assert paid.count() == 2
    before = progress(target), progress(source)

    account_merge = merge_accounts(brand, target, source)

    assert progress(target) == [(4, 1, [second.pk])]
    undo_merge(account_merge)
    assert (progress(target), progress(source)) == before
    account_merge = merge_accounts(brand, target, source)
    place_orders(brand, source, "E-3")
    assert progress(target)[0][0] == 5
    assert paid.count() == 4  # the milestone at 3, which the sum reaches, and the goal
    assert sorted(RewardClaim.objects.filter(user=target).values_list("milestone__threshold", flat=True)) == [2, 3, 5]
    assert third.pk in progress(target)[0][2]
    assert shop.inconsistencies() == []
    with pytest.raises(MergeUndoNotPossible, match="milestone"):
        undo_merge(account_merge)


def test_progress_moves_back_with_an_undo_and_new_orders_count(brand, target, source, order_campaign):
    place_orders(brand, source, "E-1")
    account_merge = merge_accounts(brand, target, source)
    assert progress(target) == [(1, 1, [])]
    undo_merge(account_merge)
    assert progress(target) == []
    place_orders(brand, target, "K-1")
    assert progress(target) == [(1, 1, [])]
    assert shop.inconsistencies() == []


def test_undo_leaves_progress_counted_since_the_merge_with_the_target(brand, target, source, order_campaign):
    _campaign, second, third, _fifth = order_campaign
    place_orders(brand, source, "E-1", "E-2", "E-3")
    account_merge = merge_accounts(brand, target, source)
    place_orders(brand, source, "E-4")
    assert progress(target) == [(4, 1, [second.pk, third.pk])]

    undo_merge(account_merge)

    assert progress(target) == [(1, 1, [])]
    assert progress(source) == [(3, 1, [second.pk, third.pk])]
    assert shop.inconsistencies() == []


def test_waiting_reward_of_both_accounts_is_not_duplicated_for_the_target(brand, target, source, ten_percent_rule):
    campaign = factories.campaign(brand, type="order", target_value=5)
    milestone = factories.milestone(campaign, 1, reward_name="Ten", reward_points=10, auto_claim=False)
    place_orders(brand, target, "K-1")
    place_orders(brand, source, "E-1")
    merge_accounts(brand, target, source)
    assert [(each.user, each.status) for each in RewardClaim.objects.order_by("pk")] == [
        (target, "available"),
        (source, "available"),
    ]
    assert RewardClaim.objects.filter(user=target, milestone=milestone).count() == 1
    assert UserLoyaltyCampaign.objects.count() == 2
    assert shop.inconsistencies() == []
