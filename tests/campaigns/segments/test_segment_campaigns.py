"""Campaigns for the members of a segment, which is not deleted then; they ask for none that is gone."""

import pytest

from campaigns.accrual import scopes
from campaigns.models.campaigns import UserLoyaltyCampaign
from campaigns.segments import uses
from core.errors import Invalid
from tests.campaigns.earning.earning_rules import row, scan
from tests.campaigns.segments.test_evaluation import evaluated
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def segment(brand):
    return factories.segment(brand, ("balance", "at_least", 100), name="Rich")


def campaign_for(brand, segment):
    campaign = factories.campaign(brand)
    campaign.conditions = {"all": [row("segment", "in", [segment.pk])]}
    campaign.save()
    return campaign


def test_a_campaign_counts_the_actions_of_its_segment_alone(brand, customer, segment):
    rich = factories.customer(brand)
    factories.points(rich, brand, 100)
    evaluated(segment)
    campaign_for(brand, segment)

    scan(brand, rich)
    scan(brand, customer)

    assert list(UserLoyaltyCampaign.objects.values_list("user", "progress")) == [(rich.pk, 1)]


def test_a_segment_that_a_campaign_asks_for_is_not_deleted(brand, segment):
    campaign = campaign_for(brand, segment)

    with pytest.raises(Invalid, match=campaign.campaign_name):
        uses.delete(segment)


def test_a_campaign_asks_for_no_segment_that_is_gone_or_anothers(brand, segment):
    campaign = campaign_for(brand, segment)
    assert scopes.problem_of(campaign) == ""

    for unknown in (factories.segment(factories.brand(), ("balance", "at_least", 1)).pk, segment.pk + 1000):
        campaign.conditions = {"all": [row("segment", "in", [unknown])]}
        assert "One of the segments is gone" in scopes.problem_of(campaign)
