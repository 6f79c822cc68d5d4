"""Rules and rewards that ask for a segment, which is not deleted then; they ask for none that is gone."""

import pytest
from django.utils import timezone

from brands.models.saved_lists import SavedList
from campaigns.earning import checks, conditions, sentences
from campaigns.earning.fields import Needs
from campaigns.segments import evaluate, uses
from core.errors import Invalid
from loyalty.errors import RewardNotAvailable
from loyalty.models.programme.segments import Segment
from loyalty.models.rewards import Reward
from loyalty.rewards.offers import offers_to
from tests.campaigns.earning.earning_rules import row, rule, scan
from tests.campaigns.segments.test_evaluation import evaluated
from tests.support import factories
from tests.support.portal import staff

pytestmark = pytest.mark.django_db


@pytest.fixture
def brand(brand):
    """Whose scans are worth one point."""
    brand.levels.update(scan_reward_value=1)
    return brand


@pytest.fixture
def segment(brand):
    """Whoever has a hundred points."""
    return factories.segment(brand, ("balance", "at_least", 100), name="Rich")


def test_a_rule_counts_for_members_of_its_segment_alone(brand, customer, segment):
    rich = factories.customer(brand)
    factories.points(rich, brand, 100)
    evaluated(segment)
    rule(brand, value=3, all_of=[row("segment", "in", [segment.pk])])
    rule(brand, value=50, effect="bonus", all_of=[row("segment", "not_in", [segment.pk])])

    assert scan(brand, rich) == 3
    assert scan(brand, customer) == 51


def test_whoever_leaves_the_segment_earns_as_before(brand, customer, segment):
    factories.points(customer, brand, 100)
    evaluated(segment)
    rule(brand, value=3, all_of=[row("segment", "in", [segment.pk])])
    assert scan(brand, customer) == 3

    segment.members.all().delete()

    assert scan(brand, customer) == 1


def test_a_rule_without_a_segment_reads_none(brand, segment):
    plain = conditions.read({"all": [row("level", "in", ["Bronze"])]}, kind="scan-auth")
    asking = conditions.read({"all": [row("segment", "in", [segment.pk])]}, kind="scan-auth")

    assert Needs.SEGMENTS not in conditions.needs_of(plain)
    assert Needs.SEGMENTS in conditions.needs_of(asking)


def test_a_rule_names_its_segment(brand, segment):
    made = rule(brand, all_of=[row("segment", "in", [segment.pk])])

    assert "segment is one of Rich" in sentences.sentence(made)


def test_a_rule_asks_for_no_segment_that_is_gone_or_another_brand_s(brand):
    foreign = factories.segment(factories.brand())
    for key in (foreign.pk, 2**40):
        made = rule(brand, name=f"Asks {key}", all_of=[{"any": [row("segment", "in", [key])]}])

        assert checks.problems_of(made) == {"conditions": "One of the segments is gone. Remove it from the conditions."}


def test_a_segment_in_use_is_not_deleted(brand, segment):
    made = rule(brand, all_of=[{"none": [row("segment", "in", [str(segment.pk)])]}], name="For the poor")
    lists = {"owner": staff(brand), "model_label": "loyalty.userpoints", "query": {"segment": [str(segment.pk)]}}
    saved = SavedList.objects.create(brand=brand, name="Rich ones", **lists)

    with pytest.raises(Invalid, match="earning rule “For the poor”, saved list “Rich ones”"):
        uses.delete(segment)
    saved.delete()
    made.state = "ended"
    made.save()
    evaluated(segment)
    segment_id = segment.pk
    uses.delete(segment)

    assert not Segment.objects.exists()
    assert evaluate.evaluate(segment_id, at=timezone.now()) is None


def test_a_reward_of_a_segment_is_for_its_members_alone(brand, customer, segment):
    rich = factories.customer(brand)
    for who in (rich, customer):
        factories.points(who, brand, 150 if who == rich else 50)
    evaluated(segment)
    reward = factories.reward(brand, cost=10, segment=segment)
    everybody_s = factories.reward(brand, cost=10)
    visible = Reward.objects.for_customer

    assert set(visible(user_id=rich.pk, brand_id=brand.pk)) == {reward, everybody_s}
    assert set(visible(user_id=customer.pk, brand_id=brand.pk)) == {everybody_s}
    assert factories.redemption(rich, reward).cost == 10
    with pytest.raises(RewardNotAvailable):
        factories.redemption(customer, reward)
    with pytest.raises(RewardNotAvailable):
        factories.redemption(factories.customer(brand, enrolled=False), reward)
    states = [
        [offer.reason for offer in offers_to(user_id=who.pk, brand=brand, rewards=[reward], at=timezone.now())]
        for who in (rich, customer)
    ]
    assert states == [[None], ["REWARD_NOT_AVAILABLE"]]
    with pytest.raises(Invalid, match="reward “"):
        uses.delete(segment)


def test_the_api_lists_a_reward_of_a_segment_to_its_members_alone(api, brand, customer, segment):
    reward = factories.reward(brand, segment=segment)

    def listed():
        answer = api.as_customer(customer).get("customer/loyalty/rewards").json()
        return [row["id"] for row in answer["data"]]

    assert listed() == []
    factories.points(customer, brand, 100)
    evaluated(segment)
    assert listed() == [reward.pk]


def test_other_segments_are_deleted(brand, segment):
    rule(brand, all_of=[row("segment", "in", [segment.pk])])
    free = factories.segment(brand)

    uses.delete(free)

    assert list(Segment.objects.all()) == [segment]
