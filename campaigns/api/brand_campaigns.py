"""The brand's campaigns and earning rules over HTTP, for its own systems and staff."""

from django.db.models import QuerySet
from rest_framework import serializers

from brands.access.brand_access import BrandAccess
from brands.access.endpoints import BrandView, ModelEndpoints
from campaigns.models.campaigns import Campaign
from campaigns.models.earning_rules import EarningRule
from core.api.filters import ChoiceFilter, SwitchFilter, TenantFilterSet, TextFilter
from core.api.openapi.shared_examples import WHEN
from core.api.outputs import Output, PointsField, TimestampField

EXAMPLE = {
    "id": 5,
    "name": "Ten jackets",
    "type": "authenticator_scan",
    "target": 10,
    "step_by": "count",
    "is_repeatable": False,
    "conditions": {"all": [{"field": "category", "operator": "in", "value": ["Jackets"]}]},
    "budget": 20000,
    "starts_at": WHEN,
    "ends_at": None,
    "is_active": True,
    "milestones": [
        {"id": 8, "threshold": 5, "reward_id": None, "reward_name": "Bonus", "reward_points": 100, "auto_claim": True}
    ],
    "created_at": WHEN,
}
RULE = {
    "id": 3,
    "name": "Order completed",
    "kind": "order-complete",
    "conditions": {"all": [{"field": "category", "operator": "in", "value": ["Serums"]}]},
    "reward_type": "percentage",
    "reward_value": 5,
    "per": "event",
    "basis": "whole",
    "limits": [{"per": "member", "what": "points", "period": "month", "most": "500"}],
    "stacking": "add",
    "group": "",
    "priority": 100,
    "starts_at": WHEN,
    "ends_at": None,
    "state": "active",
    "is_active": True,
}


class BrandMilestoneOutput(Output):
    id = serializers.IntegerField(source="milestone_id")
    threshold = serializers.IntegerField(help_text="The progress at which the milestone is reached.")
    reward_id = serializers.IntegerField(
        allow_null=True, help_text="The reward in the catalogue; null for points, or for a reward that has only a name."
    )
    reward_name = serializers.CharField()
    reward_points = PointsField()
    auto_claim = serializers.BooleanField()


class BrandCampaignOutput(Output):
    id = serializers.IntegerField(source="campaign_id")
    name = serializers.CharField(source="campaign_name")
    type = serializers.ChoiceField(choices=Campaign.Type.values)
    target = serializers.IntegerField(source="target_value")
    step_by = serializers.ChoiceField(
        choices=Campaign.StepBy.values, help_text="What is counted: actions, money spent, or different products."
    )
    is_repeatable = serializers.BooleanField(help_text="Whether members who reach the goal start a new round.")
    conditions = serializers.DictField(
        help_text="Which actions count, as in earning rules; empty if all of the type count."
    )
    budget = PointsField(
        allow_null=True, help_text="The most points that all its milestones may pay; null for no limit."
    )
    starts_at = TimestampField(allow_null=True)
    ends_at = TimestampField(allow_null=True)
    is_active = serializers.BooleanField()
    milestones = BrandMilestoneOutput(many=True, source="milestones.all")
    created_at = TimestampField()


class BrandCampaignFilter(TenantFilterSet):
    type = ChoiceFilter(values=Campaign.Type.values, description="Only campaigns of this type.")
    is_active = SwitchFilter(description="Only active campaigns, or only inactive ones.")


CAMPAIGNS = ModelEndpoints(
    "campaigns.campaign", BrandCampaignOutput, EXAMPLE, filters=BrandCampaignFilter, ordering=("-campaign_id",)
)


class BrandCampaigns(BrandView):
    """The brand's campaigns."""

    @CAMPAIGNS.list_endpoint("list_brand_campaigns", "List campaigns")
    def get(self, access: BrandAccess) -> QuerySet[Campaign]:
        """List the brand's campaigns with their milestones, newest first. Needs the scope `read`."""
        return Campaign.objects.filter(brand=access.brand_id).prefetch_related("milestones")


class BrandCampaign(BrandView):
    """One of the brand's campaigns."""

    @CAMPAIGNS.row_endpoint("read_brand_campaign", "Read a campaign")
    def get(self, access: BrandAccess, campaign_id: int) -> QuerySet[Campaign]:
        """Return a campaign with its milestones. Needs the scope `read`."""
        return Campaign.objects.filter(brand=access.brand_id, pk=campaign_id)


KIND_TEXT = f"The kind of event that earns: {', '.join(EarningRule.Kind.values)}, or one of the brand's own kinds."


class BrandRuleOutput(Output):
    id = serializers.IntegerField()
    name = serializers.CharField()
    kind = serializers.CharField(help_text=KIND_TEXT)
    conditions = serializers.DictField(help_text="Groups of conditions, of which `all`, `any` or `none` must be true.")
    reward_type = serializers.ChoiceField(choices=EarningRule.Effect.values)
    reward_value = PointsField(help_text="Points, a percentage of the amount, or a multiplier; see `reward_type`.")
    per = serializers.ChoiceField(choices=EarningRule.Per.values)
    basis = serializers.ChoiceField(choices=EarningRule.Basis.values, help_text="What a percentage is calculated from.")
    limits = serializers.ListField(child=serializers.DictField())
    stacking = serializers.ChoiceField(choices=EarningRule.Stacking.values)
    group = serializers.CharField(allow_blank=True)
    priority = serializers.IntegerField()
    starts_at = TimestampField(allow_null=True)
    ends_at = TimestampField(allow_null=True)
    state = serializers.ChoiceField(choices=EarningRule.State.values)
    is_active = serializers.BooleanField(help_text="Whether `state` is `active`.")


class BrandRuleFilter(TenantFilterSet):
    kind = TextFilter(max_length=64, description="Only rules for this kind of event.")


RULES = ModelEndpoints("campaigns.earningrule", BrandRuleOutput, RULE, filters=BrandRuleFilter)


class BrandRules(BrandView):
    """The brand's earning rules."""

    @RULES.list_endpoint("list_earning_rules", "List earning rules")
    def get(self, access: BrandAccess) -> QuerySet[EarningRule]:
        """List the brand's earning rules. Needs the scope `read`. Scans also earn points by the member's level."""
        return EarningRule.objects.filter(brand=access.brand_id)


class BrandRule(BrandView):
    """One of the brand's earning rules."""

    @RULES.row_endpoint("read_earning_rule", "Read an earning rule")
    def get(self, access: BrandAccess, rule_id: int) -> QuerySet[EarningRule]:
        """Return an earning rule. Needs the scope `read`."""
        return EarningRule.objects.filter(brand=access.brand_id, pk=rule_id)
