"""What still comes for an account that was merged ends at the member who goes on, exactly once."""

import pytest

from authcodes.models.scans import Scan
from campaigns.models.campaigns import RewardClaim, UserLoyaltyCampaign
from events import worker
from events.models import Event
from loyalty.errors import MergeUndoNotPossible
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.orders import CreditedOrder
from loyalty.models.pending import PendingPoints
from tests.loyalty.merges.conftest import merged, undone
from tests.support import factories, shop
from tests.support.api import error

pytestmark = pytest.mark.django_db


@pytest.fixture
def ten_percent(brand):
    return factories.earning_rule(brand, "order-complete", value=10, reward_type="percentage")


def balances(brand, *members):
    assert shop.contradictions() == []
    return [factories.account(each, brand).points for each in members]


def test_an_order_that_names_the_old_user(brand, target, source, ten_percent):
    merged(brand, target, source)

    event = shop.buy(brand, source)

    assert (event.status, event.detail["arguments"]["user_id"]) == ("done", target.pk)
    assert balances(brand, target, source) == [10, 0]
    assert CreditedOrder.objects.get().user == target


def test_an_order_that_was_credited_before_is_credited_no_more(brand, target, source, ten_percent):
    first = shop.buy(brand, source)
    merged(brand, target, source)

    again = [shop.buy(brand, who) for who in (source, target)]

    assert first.status == "done"
    assert {each.outcome["error"] for each in again} == {"POINTS_ALREADY_CLAIMED"}
    assert balances(brand, target, source) == [10, 0]


@pytest.mark.parametrize("names", ["target", "source"])
def test_a_return_of_an_order_from_before(brand, target, source, ten_percent, names, request):
    shop.buy(brand, source)
    made = merged(brand, target, source)

    event = shop.give_back(brand, request.getfixturevalue(names))

    assert (event.status, event.outcome["points_reversed"]) == ("done", 10)
    assert balances(brand, target, source) == [0, 0]
    with pytest.raises(MergeUndoNotPossible):
        undone(made)


def test_a_return_of_an_order_of_another_member_is_none_of_theirs(brand, target, source, ten_percent):
    shop.buy(brand, factories.customer(brand))
    merged(brand, target, source)

    assert shop.give_back(brand, source).outcome["error"] == "ORDER_ALREADY_CREDITED"


def test_pending_points_are_released_to_the_member_who_goes_on(brand, target, source, ten_percent):
    brand.order_points, brand.order_points_days = "after_days", 14
    brand.save()
    shop.buy(brand, source)
    assert shop.numbers(brand, source) == (0, 10, 0)
    made = merged(brand, target, source)
    assert [shop.numbers(brand, each) for each in (target, source)] == [(0, 10, 0), (0, 0, 0)]
    undone(made)
    assert [shop.numbers(brand, each) for each in (target, source)] == [(0, 0, 0), (0, 10, 0)]
    made = merged(brand, target, source)

    shop.deliver(brand, source)

    assert [shop.numbers(brand, each) for each in (target, source)] == [(10, 0, 0), (0, 0, 0)]
    assert PendingPoints.objects.get().user_point.user == target
    with pytest.raises(MergeUndoNotPossible, match="released or cancelled"):
        undone(made)


def test_a_pending_order_can_be_returned(brand, target, source, ten_percent):
    brand.order_points, brand.order_points_days = "after_days", 14
    brand.save()
    shop.buy(brand, source)
    merged(brand, target, source)

    assert shop.give_back(brand, source).outcome["pending_cancelled"] == 10
    assert shop.numbers(brand, target) == (0, 0, 0)


def test_a_scan_whose_event_waits(api, brand, target, source):
    code = factories.code(brand)
    assert api.as_customer(source).verify(code).json()["points_status"] == "pending"
    merged(brand, target, source)

    worker.drain()

    assert Scan.objects.get().points_status == "awarded"
    assert Scan.objects.get().user == target
    assert balances(brand, target, source) == [10, 0]


def test_many_scans_whose_events_wait(api, brand, target, source):
    codes = [factories.code(brand) for _ in range(5)]
    for code in codes:
        api.as_customer(source).verify(code)
    merged(brand, target, source)

    worker.drain()

    assert balances(brand, target, source) == [50, 0]
    assert not Event.objects.filter(status="pending", detail_type="scan-auth").exists()


def test_a_scan_that_the_hub_reports_of_the_old_user(api, brand, target, source):
    merged(brand, target, source)

    answer = api.as_customer(source).hub().credit(source, factories.code(brand))

    assert answer.status_code == 200
    assert balances(brand, target, source) == [10, 0]


def test_a_code_earns_once_for_both(api, brand, target, source, deliver):
    code = factories.code(brand, scan_limit=5)
    api.as_customer(source).verify(code)
    deliver()
    merged(brand, target, source)

    assert api.as_customer(target).verify(code).json()["points_status"] == "already_claimed"
    deliver()
    assert error(api.as_customer(target).hub().credit(target, code)) == (409, "POINTS_ALREADY_CLAIMED")
    assert error(api.as_customer(source).hub().credit(source, code)) == (409, "POINTS_ALREADY_CLAIMED")
    assert balances(brand, target, source) == [10, 0]


def test_an_undo_leaves_what_came_since(api, brand, target, source, ten_percent):
    code = factories.code(brand)
    api.as_customer(source).verify(code)
    made = merged(brand, target, source)
    worker.drain()
    shop.buy(brand, source)
    undone(made)

    assert balances(brand, target, source) == [20, 0]
    shop.buy(brand, source, order_id="B-1")
    assert balances(brand, target, source) == [20, 10]


def test_profile_and_login_events(brand, target, source):
    factories.earning_rule(brand, "log-user-profile-update", value=3)
    profile = {"type": "profile", "changedFields": ["phone"], "completedFields": ["phone"]}
    shop.report(brand, source, "log-user-profile-update", profile)
    merged(brand, target, source)

    again = shop.report(brand, source, "log-user-profile-update", profile)
    other = {"type": "profile", "changedFields": ["city"], "completedFields": ["city"]}
    shop.report(brand, source, "log-user-profile-update", other)

    assert again.outcome["error"] == "POINTS_ALREADY_CLAIMED"
    assert balances(brand, target, source) == [6, 0]


# --- Logins ----------------------------------------------------------------------------------------------------------

PASSWORD = "a long pass phrase"


def log_in(api, brand, user):
    return api.guest().post("auth/token", {"email": user.email, "password": PASSWORD, "brand_id": brand.pk})


@pytest.fixture
def old_login(source):
    source.set_password(PASSWORD)
    source.save()
    return source


def test_the_old_login_opens_nothing_until_the_undo(api, brand, target, old_login):
    """This brand's staff merged the accounts: they cannot give anybody a session of somebody else."""
    before = api.as_customer(old_login)
    made = merged(brand, target, old_login)

    assert error(before.get("customer/loyalty/points")) == (401, "TOKEN_INVALID")
    assert error(log_in(api, brand, old_login)) == (403, "ACCOUNT_MERGED")
    undone(made)
    assert log_in(api, brand, old_login).json()["user_id"] == old_login.pk


def test_sessions_at_other_brands_go_on(brand, target, source, api):
    other = factories.brand()
    UserPoints.objects.create(user=source, brand=other)
    elsewhere = api.as_customer(source, of=other)
    merged(brand, target, source)

    assert elsewhere.get("customer/loyalty/points").status_code == 200


# --- Campaigns -------------------------------------------------------------------------------------------------------


def progress(user):
    return [(each.progress, each.round, each.milestones_achieved) for each in user.campaign_progress.all()]


@pytest.fixture
def five_orders(brand, ten_percent):
    made = factories.campaign(brand, type="order", target_value=5)
    return made, *(
        factories.milestone(made, at, reward_name=f"Step {at}", reward_points=1, auto_claim=True) for at in (2, 3, 5)
    )


def buy(brand, who, *orders):
    for each in orders:
        shop.buy(brand, who, order_id=each)


def test_progress_is_added_up_and_no_milestone_pays_twice(brand, target, source, five_orders):
    _campaign, second, third, _fifth = five_orders
    buy(brand, target, "K-1", "K-2")
    buy(brand, source, "E-1", "E-2")
    paid = LoyaltyTransaction.objects.filter(reason_id__startswith="milestone:")
    assert paid.count() == 2
    before = progress(target), progress(source)

    made = merged(brand, target, source)

    assert progress(target) == [(4, 1, [second.pk])]
    undone(made)
    assert (progress(target), progress(source)) == before
    made = merged(brand, target, source)
    buy(brand, source, "E-3")
    assert progress(target)[0][0] == 5
    assert paid.count() == 4  # the third step, which both reached together, and the goal
    assert sorted(RewardClaim.objects.filter(user=target).values_list("milestone__threshold", flat=True)) == [2, 3, 5]
    assert third.pk in progress(target)[0][2]
    assert shop.contradictions() == []
    with pytest.raises(MergeUndoNotPossible, match="milestone"):
        undone(made)


def test_what_was_counted_since_stays_after_an_undo(brand, target, source, five_orders):
    buy(brand, source, "E-1")
    made = merged(brand, target, source)
    assert progress(target) == [(1, 1, [])]
    undone(made)
    assert progress(target) == []
    buy(brand, target, "K-1")
    assert progress(target) == [(1, 1, [])]
    assert shop.contradictions() == []


def test_rewards_that_wait_go_over_once(brand, target, source, ten_percent):
    campaign = factories.campaign(brand, type="order", target_value=5)
    milestone = factories.milestone(campaign, 1, reward_name="Ten", reward_points=10, auto_claim=False)
    buy(brand, target, "K-1")
    buy(brand, source, "E-1")
    merged(brand, target, source)
    assert [(each.user, each.status) for each in RewardClaim.objects.order_by("pk")] == [
        (target, "available"),
        (source, "available"),
    ]
    assert RewardClaim.objects.filter(user=target, milestone=milestone).count() == 1
    assert UserLoyaltyCampaign.objects.count() == 2
    assert shop.contradictions() == []
