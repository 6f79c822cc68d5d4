"""A scan and an action that a hub reports: a code is claimed once, whichever comes first."""

from tests.support import factories


def test_the_other_door_credits_at_once_and_answers_in_full(brand, person):
    campaign = factories.campaign(brand, target_value=2, campaign_name="Two scans")
    factories.milestone(campaign, 2, reward_name="A mug", auto_claim=False)
    customer = person()

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


def test_a_code_claimed_by_one_door_is_claimed_for_the_other(brand, person, settled):
    customer, code = person(), factories.code(brand)

    customer.verify(code)
    settled()
    again = customer.claim(code)

    assert (again.status_code, again.json()["error"]) == (409, "POINTS_ALREADY_CLAIMED")
    assert customer.points()["points"] == 10


def test_a_single_use_code_pays_once_whichever_door_comes_second(brand, person, settled):
    first, second, code = person(), person(), factories.code(brand)

    assert first.claim(code).status_code == 200
    late = second.claim(code)

    assert (late.status_code, late.json()["error"]) == (409, "SCAN_LIMIT_REACHED")
    assert second.verify(code).json()["status"] == "warning"
    assert second.points()["points"] == 0
