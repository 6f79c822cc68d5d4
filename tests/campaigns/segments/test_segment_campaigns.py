"""Campaigns for the members of a segment, which cannot be deleted while a campaign uses it."""

import pytest

from campaigns.accrual import scopes
from campaigns.models.campaigns import UserLoyaltyCampaign
from campaigns.segments import uses
from core.errors import Invalid
from tests.campaigns.earning.earning_rules import row, scan
from tests.campaigns.segments.test_evaluation import evaluate_segment
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


def test_campaign_counts_only_members_of_its_segment(brand, customer, segment):
    rich = factories.customer(brand)
    factories.points(rich, brand, 100)
    evaluate_segment(segment)
    campaign_for(brand, segment)

    scan(brand, rich)
    scan(brand, customer)

    assert list(UserLoyaltyCampaign.objects.values_list("user", "progress")) == [(rich.pk, 1)]


def test_segment_used_by_a_campaign_cannot_be_deleted(brand, segment):
    campaign = campaign_for(brand, segment)

    with pytest.raises(Invalid, match=campaign.campaign_name):
        uses.delete(segment)


def test_campaign_with_a_deleted_or_foreign_segment_is_invalid(brand, segment):
    campaign = campaign_for(brand, segment)
    assert scopes.problem_of(campaign) == ""

    for unknown in (factories.segment(factories.brand(), ("balance", "at_least", 1)).pk, segment.pk + 1000):
        campaign.conditions = {"all": [row("segment", "in", [unknown])]}
        assert "One of the segments is gone" in scopes.problem_of(campaign)
