"""Replays over HTTP: the brand's own systems replay past actions with a draft, and read the results."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from brands import audit_log
from brands.access.brand_access import BrandAccess, for_brand
from brands.access.endpoints import BrandView, ModelEndpoints, row_of, write_endpoint
from brands.audit_log import AuditedChange
from brands.identity.roles import CHANGE
from brands.models.credentials import ApiKey
from campaigns.models.campaigns import Campaign
from campaigns.models.earning_rules import EarningRule
from campaigns.models.replays import Replay
from campaigns.replay import drafts, jobs
from campaigns.replay.drafts import Draft
from core.api.filters import ChoiceFilter, TenantFilterSet
from core.api.inputs import ID, Input, one_line
from core.api.openapi.examples import data_example, request_example
from core.api.openapi.shared_examples import WHEN
from core.api.outputs import Output, PointsField, TimestampField
from core.errors import Forbidden, Invalid, NotFound
from jobs.models import Job
from loyalty.models.levels import RewardType
from loyalty.points.levels import Level

LABEL = "campaigns.replay"
# The model that the caller must be allowed to change in order to replay with a draft of it.
PAGES = {"rule": "campaigns.earningrule", "levels": "loyalty.brandlevel", "campaign": "campaigns.campaign"}
EXAMPLE = {
    "id": 12,
    "kind": "rule",
    "name": "Weekends count twice",
    "rule_id": 3,
    "campaign_id": None,
    "state": "queued",
    "since": WHEN,
    "until": WHEN,
    "job_id": 71,
    "created_at": WHEN,
    "finished_at": None,
    "expires_at": WHEN,
}
FIGURES = {"points_paid": 120, "points_tried": 150, "cost_paid": 1.2, "cost_tried": 1.5}
RESULT = {
    "actions": 41,
    "differences": 0,
    "members": 9,
    "gainers": 4,
    "losers": 0,
    "days": [{"name": "2026-11-24", **FIGURES}],
    "levels": [{"name": "Bronze", **FIGURES}],
    "rules": [{"name": "Weekends count twice", "source": "rule", "rule_id": 3, **FIGURES}],
    "members_by_level": [{"name": "Bronze", "actual": 9, "tried": 9}],
    "most": [{"member_id": 5, "points_paid": 20, "points_tried": 40}],
    "least": [],
    "campaign": None,
}
FINISHED = {**EXAMPLE, "state": "done", "finished_at": WHEN, "result": RESULT}


class ReplayFiguresOutput(Output):
    """The points paid, those the draft would have paid, and the cost of both in the brand's currency."""

    name = serializers.CharField(allow_blank=True, help_text="A day as YYYY-MM-DD, or the name of a level or rule.")
    points_paid = PointsField()
    points_tried = PointsField()
    cost_paid = PointsField(help_text="At the brand's cost per point on each day; 0 if none was set.")
    cost_tried = PointsField()


class ReplayRuleOutput(ReplayFiguresOutput):
    source = serializers.CharField(  # type: ignore[assignment]
        help_text="rule, level, override (a product's or code's points), default, reward (a milestone) or unknown."
    )
    rule_id = serializers.IntegerField(allow_null=True)


class ReplayLevelOutput(Output):
    """How many of the members with actions had a level at the end, actually and with the draft."""

    name = serializers.CharField(allow_blank=True)
    actual = serializers.IntegerField()
    tried = serializers.IntegerField()


class ReplayMemberOutput(Output):
    member_id = serializers.IntegerField(allow_null=True, help_text="Null for customers who are not members yet.")
    points_paid = PointsField()
    points_tried = PointsField()


class ReplayMilestoneOutput(Output):
    id = serializers.IntegerField()
    name = serializers.CharField()
    threshold = serializers.IntegerField()
    reached = serializers.IntegerField(help_text="How often it would have been reached.")
    withheld = serializers.IntegerField(help_text="How often the remaining budget was too small for it.")
    points = PointsField(help_text="The points it would have paid in total, after the earning rules for milestones.")
    things = serializers.IntegerField(help_text="How many rewards other than points it would have given.")
    actual_rewards = serializers.IntegerField()
    actual_points = PointsField()


class ReplayCampaignOutput(Output):
    participants = serializers.IntegerField(help_text="Members who would have made any progress.")
    finishers = serializers.IntegerField(help_text="Members who would have reached the goal at least once.")
    rounds = serializers.IntegerField(help_text="How often they would have reached it in total.")
    milestones = ReplayMilestoneOutput(many=True)


class ReplayResultOutput(Output):
    """The result of a replay."""

    actions = serializers.IntegerField()
    differences = serializers.IntegerField(
        help_text="Actions for which the rules in force at the time give other points than the ledger has. 0 unless "
        "data that are read as they are today, such as a product's category, have changed since."
    )
    members = serializers.IntegerField()
    gainers = serializers.IntegerField()
    losers = serializers.IntegerField()
    days = ReplayFiguresOutput(many=True)
    levels = ReplayFiguresOutput(many=True)
    rules = ReplayRuleOutput(many=True)
    members_by_level = ReplayLevelOutput(many=True)
    most = ReplayMemberOutput(many=True, help_text="The members who would gain the most; at most 20.")
    least = ReplayMemberOutput(many=True, help_text="The members who would lose the most; at most 20.")
    campaign = ReplayCampaignOutput(allow_null=True, help_text="Only for a draft of a campaign; otherwise null.")

    def get_attribute(self, replay: Replay) -> dict[str, Any] | None:
        return None if replay.result is None else result_of(replay.result)


class BrandReplayOutput(Output):
    id = serializers.IntegerField()
    kind = serializers.ChoiceField(choices=Replay.Kind.values)
    name = serializers.CharField(help_text="The name of the draft when the replay started.")
    rule_id = serializers.IntegerField(allow_null=True)
    campaign_id = serializers.IntegerField(allow_null=True)
    state = serializers.SerializerMethodField()
    since = TimestampField()
    until = TimestampField()
    job_id = serializers.IntegerField(allow_null=True, help_text="The job that runs the replay; see `GET /brand/jobs`.")
    created_at = TimestampField()
    finished_at = TimestampField(allow_null=True)
    expires_at = TimestampField(help_text="When the replay will be deleted.")

    def get_state(self, replay: Replay) -> str:
        """One of queued, running, done, failed and cancelled."""
        if replay.result is not None:
            return Job.Status.DONE.value
        return replay.job.status if replay.job else Job.Status.FAILED.value


class FinishedReplayOutput(BrandReplayOutput):
    """A replay with its result."""

    result = ReplayResultOutput(allow_null=True, help_text="Null until the replay is done.")


def result_of(result: Mapping[str, Any]) -> dict[str, Any]:
    """A stored result with its rows, which are lists, as named fields."""
    campaign = result.get("campaign")
    return {
        **{name: result[name] for name in ("actions", "differences", "members", "gainers", "losers")},
        "days": [_figures(name, numbers) for name, *numbers in result["days"]],
        "levels": [_figures(name, numbers) for name, *numbers in result["levels"]],
        "rules": [
            {**_figures(name, numbers), "source": source, "rule_id": rule_id or None}
            for source, rule_id, name, *numbers in result["rules"]
        ],
        "members_by_level": [
            {"name": name, "actual": actual, "tried": tried}
            for name, actual, tried in result.get("members_by_level", ())
        ],
        **{name: [_member(*row) for row in result[name]] for name in ("most", "least")},
        "campaign": campaign and {**campaign, "milestones": [_milestone(each) for each in campaign["milestones"]]},
    }


def _figures(name: str, numbers: Sequence[str]) -> dict[str, Any]:
    names = ("points_paid", "points_tried", "cost_paid", "cost_tried")
    return {"name": name, **dict(zip(names, map(Decimal, numbers), strict=True))}


def _member(account: int, paid: str, tried: str) -> dict[str, Any]:
    return {"member_id": account or None, "points_paid": Decimal(paid), "points_tried": Decimal(tried)}


def _milestone(data: Mapping[str, Any]) -> dict[str, Any]:
    return {**data, "points": Decimal(data["points"]), "actual_points": Decimal(data["actual_points"])}


class LevelInput(Input):
    name = serializers.CharField(max_length=60, validators=[one_line])
    threshold = serializers.DecimalField(max_digits=12, decimal_places=2, min_value=0)
    scan_reward_type = serializers.ChoiceField(choices=RewardType.values)
    scan_reward_value = serializers.DecimalField(max_digits=10, decimal_places=2, min_value=0)


class ReplayInput(Input):
    """Send exactly one of `rule`, `levels` and `campaign`."""

    days = serializers.IntegerField(
        help_text="How many days to replay, up to today; at most 366, and no more than events are stored."
    )
    rule = serializers.IntegerField(
        **ID, required=False, help_text="The id of a rule, used as it is now; may be a draft."
    )
    levels = LevelInput(many=True, required=False, help_text="Levels that replace all levels of the brand; at most 50.")
    campaign = serializers.IntegerField(
        **ID, required=False, help_text="The id of a campaign, used as it is now; may be inactive."
    )
    instead_of = serializers.IntegerField(
        **ID,
        required=False,
        help_text="The id of a campaign whose payments are left out, as if `campaign` had run instead.",
    )


def draft_of(access: BrandAccess, data: Mapping[str, Any]) -> Draft:
    """The chosen draft. Raises Invalid, Forbidden, and NotFound if the brand does not have the rule or campaign."""
    named = [kind for kind in PAGES if kind in data]
    if len(named) != 1:
        raise Invalid("Send one of rule, levels and campaign.", details={"field": "rule"})
    [kind] = named
    if not access.may(ApiKey.Scope.ADMIN, PAGES[kind], CHANGE):
        raise Forbidden
    if kind == "levels":
        fields = ("name", "threshold", "scan_reward_type", "scan_reward_value")
        return drafts.of_levels(access.brand, [Level(*(each[name] for name in fields)) for each in data["levels"]])
    if kind == "rule":
        return drafts.of_rule(row_of(EarningRule.objects.filter(brand=access.brand_id), pk=data["rule"]))
    campaigns = Campaign.objects.filter(brand=access.brand_id)
    other = data.get("instead_of")
    instead_of = None if other is None else row_of(campaigns, pk=other)
    return drafts.of_campaign(row_of(campaigns, pk=data["campaign"]), instead_of=instead_of)


class BrandReplayFilter(TenantFilterSet):
    kind = ChoiceFilter(values=Replay.Kind.values, description="Only replays of this kind of draft.")


REPLAYS = ModelEndpoints(LABEL, BrandReplayOutput, EXAMPLE, filters=BrandReplayFilter)
FINISHED_REPLAYS = ModelEndpoints(LABEL, FinishedReplayOutput, FINISHED)


class BrandReplays(BrandView):
    """The brand's replays."""

    @REPLAYS.list_endpoint("list_replays", "List replays")
    def get(self, access: BrandAccess) -> QuerySet[Replay]:
        """List recent replays, without their results. Needs the scope `read`."""
        return Replay.objects.filter(brand=access.brand_id).select_related("job")

    @write_endpoint(
        "start_replay",
        "Start a replay",
        request=ReplayInput,
        responses={201: REPLAYS.row_output},
        calls=[jobs.start],
        raises=[NotFound, Invalid],
        examples=[
            request_example("A draft of a rule", {"days": 30, "rule": 3}),
            data_example("Queued", EXAMPLE),
        ],
    )
    @for_brand(ApiKey.Scope.ADMIN, LABEL, writes=True)
    def post(self, request: Request, access: BrandAccess) -> Response:
        """Start a job that replays recent actions with a draft. It changes no points. Needs the scope `admin`.

        A brand can run one replay at a time. Poll `GET /brand/replays/{replay_id}` until `state` is `done`, `failed`
        or `cancelled`.
        """
        data = ReplayInput.parse(request.data)
        draft = draft_of(access, data)
        context = access.audit_context()
        made = jobs.start(brand=access.brand, draft=draft, days=data["days"], by=access.user, at=context.at)
        row = AuditedChange(made, access.brand_id)
        audit_log.record(audit_context=context, action="Replayed past actions", rows=[row])
        return Response(REPLAYS.row_output.serialize(made), status=201)


class BrandReplay(BrandView):
    """One of the brand's replays."""

    @FINISHED_REPLAYS.row_endpoint("read_replay", "Read a replay")
    def get(self, access: BrandAccess, replay_id: int) -> QuerySet[Replay]:
        """Return a replay and, once it is done, its result. Needs the scope `read`."""
        return Replay.objects.filter(brand=access.brand_id, pk=replay_id).select_related("job")
