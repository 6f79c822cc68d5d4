"""No milestone lies above its campaign's goal, neither in the form nor in the database."""

import pytest
from django.db import IntegrityError, connection, transaction

from campaigns.models.campaigns import Campaign, Milestone
from tests.support import factories
from tests.support.portal import address, browser, form_of, staff, text

pytestmark = pytest.mark.django_db


def check_constraint_now():
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS milestone_above_goal IMMEDIATE")
        cursor.execute("SET CONSTRAINTS milestone_above_goal DEFERRED")


def save(brand, campaign, *thresholds, follow=False, **fields):
    """Save the campaign's form with one milestone at each threshold."""
    url, client = address("campaigns.campaign", "change", campaign.pk), browser(staff(brand))
    data = {name: value for name, value in form_of(client.get(url)).items() if value is not None}
    existing = list(campaign.milestones.order_by("threshold"))
    data |= {"milestones-TOTAL_FORMS": str(len(thresholds)), "milestones-INITIAL_FORMS": str(len(existing))}
    for number, threshold in enumerate(thresholds):
        data |= {f"milestones-{number}-campaign": campaign.pk, f"milestones-{number}-threshold": threshold}
        data |= {f"milestones-{number}-reward_name": "A mug", f"milestones-{number}-reward_points": "0"}
        if number < len(existing):
            data[f"milestones-{number}-milestone_id"] = existing[number].pk
    return client.post(url, {**data, **fields}, follow=follow)


def test_form_rejects_a_milestone_above_the_goal_with_a_message(brand):
    campaign = factories.campaign(brand, target_value=3)

    answer = save(brand, campaign, 9)

    assert answer.status_code == 200
    assert "Progress stops at the goal of 3. Enter 3 or less, or raise the goal." in text(answer)
    assert not Milestone.objects.exists()


def test_form_rejects_a_goal_below_a_milestone(brand):
    campaign = factories.campaign(brand, target_value=9)
    factories.milestone(campaign, 9)

    answer = save(brand, campaign, 9, target_value="3")

    assert "Progress stops at the goal of 3" in text(answer)
    campaign.refresh_from_db()
    assert campaign.target_value == 9


def test_form_changes_goal_and_milestone_together(brand):
    campaign = factories.campaign(brand, target_value=9)
    factories.milestone(campaign, 9)

    assert save(brand, campaign, 3, target_value="3").status_code == 302
    assert save(brand, campaign, 7, target_value="7").status_code == 302
    assert Milestone.objects.get().threshold == 7


def test_form_warns_of_a_goal_without_a_milestone(brand):
    campaign = factories.campaign(brand, target_value=5)
    warning = "The goal has no milestone. Add one at 5"

    assert warning in text(save(brand, campaign, 3, follow=True))
    assert warning not in text(save(brand, campaign, 5, follow=True))


def test_database_rejects_a_milestone_above_the_goal(brand):
    campaign = factories.campaign(brand, target_value=3)

    with pytest.raises(IntegrityError, match="milestone lies above the goal of 3"), transaction.atomic():
        factories.milestone(campaign, 4)
        check_constraint_now()


def test_database_rejects_a_goal_below_a_milestone(brand):
    campaign = factories.campaign(brand, target_value=5)
    factories.milestone(campaign, 5)
    check_constraint_now()

    with pytest.raises(IntegrityError, match="milestone lies above the goal of 4"), transaction.atomic():
        Campaign.objects.filter(pk=campaign.pk).update(target_value=4)
        check_constraint_now()
