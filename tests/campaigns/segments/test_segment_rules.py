"""Rules and rewards for a segment, which cannot be deleted while one of them uses it."""

import pytest
from django.utils import timezone

from brands.models.saved_lists import SavedList
from campaigns.earning import checks, conditions, sentences
from campaigns.earning.fields import Needs
from campaigns.segments import evaluate, uses
from core.errors import Invalid
from loyalty.errors import RewardNotAvailable
from loyalty.models.programme.segments import Segment, SegmentMember
from loyalty.models.rewards import Redemption, Reward
from loyalty.rewards.offers import offers_to
from tests.campaigns.earning.earning_rules import row, rule, scan
from tests.campaigns.segments.test_evaluation import evaluate_segment
from tests.support import factories
from tests.support.portal import staff

pytestmark = pytest.mark.django_db


@pytest.fixture
def brand(brand):
    """A brand whose scans are worth one point."""
    brand.levels.update(scan_reward_value=1)
    return brand


@pytest.fixture
def segment(brand):
    """The members who have a hundred points."""
    return factories.segment(brand, ("balance", "at_least", 100), name="Rich")


def test_rule_applies_only_to_members_of_its_segment(brand, customer, segment):
    rich = factories.customer(brand)
    factories.points(rich, brand, 100)
    evaluate_segment(segment)
    rule(brand, value=3, all_of=[row("segment", "in", [segment.pk])])
    rule(brand, value=50, effect="bonus", all_of=[row("segment", "not_in", [segment.pk])])

    assert scan(brand, rich) == 3
    assert scan(brand, customer) == 51


def test_member_who_leaves_the_segment_earns_as_before(brand, customer, segment):
    factories.points(customer, brand, 100)
    evaluate_segment(segment)
    rule(brand, value=3, all_of=[row("segment", "in", [segment.pk])])
    assert scan(brand, customer) == 3

    segment.members.all().delete()

    assert scan(brand, customer) == 1


def test_rule_without_a_segment_needs_no_segments(brand, segment):
    without_segment = conditions.read({"all": [row("level", "in", ["Bronze"])]}, kind="scan-auth")
    with_segment = conditions.read({"all": [row("segment", "in", [segment.pk])]}, kind="scan-auth")

    assert Needs.SEGMENTS not in conditions.needs_of(without_segment)
    assert Needs.SEGMENTS in conditions.needs_of(with_segment)


def test_rule_sentence_names_its_segment(brand, segment):
    new_rule = rule(brand, all_of=[row("segment", "in", [segment.pk])])

    assert "segment is one of Rich" in sentences.sentence(new_rule)


def test_rule_with_a_deleted_or_foreign_segment_is_invalid(brand):
    foreign = factories.segment(factories.brand())
    for key in (foreign.pk, 2**40):
        new_rule = rule(brand, name=f"Asks {key}", all_of=[{"any": [row("segment", "in", [key])]}])

        assert checks.problems_of(new_rule) == {
            "conditions": "One of the segments is gone. Remove it from the conditions."
        }


def test_segment_in_use_cannot_be_deleted(brand, segment):
    new_rule = rule(brand, all_of=[{"none": [row("segment", "in", [str(segment.pk)])]}], name="For the poor")
    list_fields = {"owner": staff(brand), "model_label": "loyalty.userpoints", "query": {"segment": [str(segment.pk)]}}
    saved = SavedList.objects.create(brand=brand, name="Rich ones", **list_fields)

    with pytest.raises(Invalid, match="earning rule “For the poor”, saved list “Rich ones”"):
        uses.delete(segment)
    saved.delete()
    with pytest.raises(Invalid, match="earning rule “For the poor”"):
        uses.delete(segment)
    new_rule.delete()
    uses.delete(segment)

    assert not Segment.objects.exists()


def test_segment_of_an_ended_rule_can_be_deleted(brand, segment):
    rule(brand, all_of=[row("segment", "in", [segment.pk])], state="ended")

    uses.delete(segment)

    assert not Segment.objects.exists()


@pytest.mark.usefixtures("customer")
def test_deleted_segment_with_members_is_not_evaluated_again(brand):
    segment = factories.segment(brand)
    evaluate_segment(segment)
    segment_id = segment.pk
    assert segment.members.count() == 1

    uses.delete(segment)

    assert evaluate.evaluate(segment_id, at=timezone.now()) is None
    assert not SegmentMember.objects.exists()


@pytest.fixture
def rich(brand, customer, segment):
    """A member of the segment; `customer` has too few points for it."""
    rich = factories.customer(brand)
    for member in (rich, customer):
        factories.points(member, brand, 150 if member == rich else 50)
    evaluate_segment(segment)
    return rich


@pytest.fixture
def reward(brand, segment):
    return factories.reward(brand, cost=10, segment=segment)


def test_reward_of_a_segment_is_visible_only_to_its_members(brand, customer, rich, reward):
    open_reward = factories.reward(brand, cost=10)
    visible = Reward.objects.for_customer

    assert set(visible(user_id=rich.pk, brand_id=brand.pk)) == {reward, open_reward}
    assert set(visible(user_id=customer.pk, brand_id=brand.pk)) == {open_reward}


def test_reward_of_a_segment_is_redeemed_only_by_its_members(brand, customer, rich, reward):
    assert factories.redemption(rich, reward).cost == 10
    for member in (customer, factories.customer(brand, enrolled=False)):
        with pytest.raises(RewardNotAvailable):
            factories.redemption(member, reward)

    assert list(Redemption.objects.values_list("user_point__user", flat=True)) == [rich.pk]


def test_reward_of_a_segment_is_offered_only_to_its_members(brand, customer, rich, reward):
    states = [
        [offer.reason for offer in offers_to(user_id=member.pk, brand=brand, rewards=[reward], at=timezone.now())]
        for member in (rich, customer)
    ]

    assert states == [[None], ["REWARD_NOT_AVAILABLE"]]


def test_segment_of_a_reward_cannot_be_deleted(segment, reward):
    with pytest.raises(Invalid, match="reward “"):
        uses.delete(segment)

    assert Segment.objects.get() == segment


def test_api_lists_a_reward_of_a_segment_only_to_its_members(api, brand, customer, segment):
    reward = factories.reward(brand, segment=segment)

    def listed():
        answer = api.as_customer(customer).get("customer/loyalty/rewards").json()
        return [row["id"] for row in answer["data"]]

    assert listed() == []
    factories.points(customer, brand, 100)
    evaluate_segment(segment)
    assert listed() == [reward.pk]


def test_unused_segment_can_be_deleted(brand, segment):
    rule(brand, all_of=[row("segment", "in", [segment.pk])])
    unused = factories.segment(brand)

    uses.delete(unused)

    assert list(Segment.objects.all()) == [segment]
