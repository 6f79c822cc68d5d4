"""A code can be claimed by a scan or by a reported action, but only once."""

from tests.support import factories


def test_action_endpoint_credits_at_once_and_answers_in_full(brand, make_customer):
    campaign = factories.campaign(brand, target_value=2, campaign_name="Two scans")
    factories.milestone(campaign, 2, reward_name="A mug", auto_claim=False)
    customer = make_customer()

    answer = customer.claim(factories.code(brand, campaign=campaign)).json()

    assert answer["data"]["campaign_progress"] == {
        "campaign_id": campaign.pk,
        "campaign_name": "Two scans",
        "progress": 1,
        "target": 2,
        "milestone_achieved": False,
        "next_reward": "A mug",
    }
    assert (answer["data"]["points_earned"], answer["data"]["new_balance"]) == (10, 10)
    assert (answer["data"]["current_level"], answer["data"]["next_level_threshold"]) == ("Bronze", 25)


def test_code_claimed_by_a_scan_is_rejected_as_an_action(brand, make_customer, wait_for_events):
    customer, code = make_customer(), factories.code(brand)

    customer.verify(code)
    wait_for_events()
    again = customer.claim(code)

    assert (again.status_code, again.json()["error"]) == (409, "POINTS_ALREADY_CLAIMED")
    assert customer.points()["points"] == 10


def test_single_use_code_earns_a_second_customer_nothing_at_either_endpoint(brand, make_customer, wait_for_events):
    first, second, code = make_customer(), make_customer(), factories.code(brand)

    assert first.claim(code).status_code == 200
    late = second.claim(code)

    assert (late.status_code, late.json()["error"]) == (409, "SCAN_LIMIT_REACHED")
    assert second.verify(code).json()["status"] == "warning"
    assert second.points()["points"] == 0
