"""The figures on a campaign's page, prepared for the template: state, time, milestones, cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from django.utils.formats import date_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from campaigns import linked_batches
from campaigns.admin.campaign_page.bars import chart_of
from campaigns.models.campaigns import Campaign, CampaignBudgetUse, Milestone
from campaigns.progress.lifecycle import State
from campaigns.progress.results import CampaignResults, MilestoneResults
from core.numbers import format_number, grouped, plural_number
from loyalty.rewards import pools
from portal.base.badges import badge
from portal.figures.cards import percent_of
from portal.figures.drawings import Chart
from portal.lists.local_time import moment_text
from portal.lists.number_columns import format_points

MIN_DAYS, CHART_DAYS = 14, 90  # minimum and maximum days in the chart
COLOURS = {State.OFF: "warning", State.PLANNED: "info", State.RUNNING: "success", State.ENDED: ""}
TEXTS: dict[State, Any] = {
    State.OFF: gettext_lazy("Paused"),
    State.PLANNED: gettext_lazy("Scheduled"),
    State.RUNNING: gettext_lazy("Running"),
    State.ENDED: gettext_lazy("Ended"),
}


def state_badge(state: State, *, is_new: bool) -> SafeString:
    """`is_new`: the campaign was never launched, so it is not called paused."""
    return badge("", _("Not launched")) if is_new else badge(COLOURS[state], TEXTS[state])


def goal_text(campaign: Campaign) -> str:
    """The goal with its unit: 10 scans, 100 EUR."""
    goal, number = campaign.target_value, grouped(campaign.target_value)
    if campaign.step_by == Campaign.StepBy.AMOUNT:
        return f"{number} {campaign.brand.currency}"
    if campaign.step_by == Campaign.StepBy.PRODUCTS:
        return ngettext("%(number)s product", "%(number)s different products", goal) % {"number": number}
    counted = {
        Campaign.Type.SCAN.value: ngettext("%(number)s scan", "%(number)s scans", goal),
        Campaign.Type.ORDER.value: ngettext("%(number)s order", "%(number)s orders", goal),
        Campaign.Type.PROFILE.value: ngettext("%(number)s profile change", "%(number)s profile changes", goal),
        Campaign.Type.LOGIN.value: ngettext("%(number)s login", "%(number)s logins", goal),
    }
    return counted[campaign.type] % {"number": number}


@dataclass(frozen=True, slots=True)
class MilestoneLine:
    """A milestone: its position on the line, what it gives, and how many members reached it."""

    milestone: Milestone
    results: MilestoneResults
    percent: float  # of the goal
    share: float  # of the participants, in percent
    gives: str
    stock: SafeString | str

    @property
    def at(self) -> str:
        return grouped(self.milestone.threshold)

    @property
    def reached(self) -> str:
        return grouped(self.results.reached)

    @property
    def claimed(self) -> str:
        return grouped(self.results.claimed)

    @property
    def waiting(self) -> str:
        return grouped(self.results.waiting)

    @property
    def used(self) -> str:
        """How many codes a till took; "—" where no codes were issued, as with points."""
        return grouped(self.results.used) if self.results.issued else "—"


def milestone_lines(campaign: Campaign, results: CampaignResults, *, at: datetime) -> list[MilestoneLine]:
    rounds = max(results.participants, results.rounds)
    milestones = list(campaign.milestones.select_related("reward").order_by("threshold"))
    rewards = [each.reward for each in milestones if each.reward is not None]
    left: dict[int, int | None] = {each.pk: each.stock for each in rewards}
    left.update(pools.left(rewards, at=at))
    return [
        MilestoneLine(
            milestone=each,
            results=own,
            percent=min(100.0, percent_of(each.threshold, campaign.target_value)),
            share=min(100.0, percent_of(own.reached, rounds)),
            gives=what_it_gives(each),
            stock=stock_text(left.get(each.reward_id)) if each.reward_id else "",
        )
        for each in milestones
        for own in [results.milestones.get(each.pk) or MilestoneResults()]
    ]


def what_it_gives(milestone: Milestone) -> str:
    """Points, or a reward with a code for the till."""
    if milestone.reward_points:
        return format_points(milestone.reward_points)
    return _("a reward of the catalogue") if milestone.reward_id else _("a reward with a code for the till")


def stock_text(left: int | None) -> SafeString | str:
    """`left`: None means unlimited. When nothing is left, won rewards wait to be claimed."""
    if left is None:
        return ""
    if not left:
        return badge("danger", _("None left: the reward waits to be claimed"))
    return _("%(stock)s left") % {"stock": grouped(left)}


@dataclass(frozen=True, slots=True)
class Budget:
    """What the milestones have paid and, if `is_limited`, what they may pay."""

    spent: str
    is_limited: bool
    percent: float
    is_used_up: bool
    money: str


def spent_of(spent: Decimal, limit: Decimal) -> str:
    message = ngettext("%(spent)s of %(budget)s point", "%(spent)s of %(budget)s points", plural_number(limit))
    return message % {"spent": format_number(spent), "budget": format_number(limit)}


def budget_of(campaign: Campaign, results: CampaignResults, *, with_money: bool) -> Budget:
    """`with_money`: only for users who may see the cost per point."""
    spent = results.points + results.points_waiting
    row = CampaignBudgetUse.objects.filter(campaign=campaign).first() if campaign.budget is not None else None
    if row is not None:
        spent = row.points
    limit = campaign.budget
    money = ""
    if with_money:
        cost = results.cost
        money = _("no cost per point is set") if cost is None else f"{grouped(cost)} {campaign.brand.currency}"
    return Budget(
        spent=format_number(spent) if limit is None else spent_of(spent, limit),
        is_limited=limit is not None,
        percent=0.0 if not limit else min(100.0, round(float(100 * spent / limit), 1)),
        is_used_up=limit is not None and spent >= limit,
        money=money,
    )


@dataclass(frozen=True, slots=True)
class TimeLine:
    """How much of the campaign's time has passed; `percent` is None without an end."""

    begins: str
    ends: str
    left: str
    percent: float | None


def time_line(campaign: Campaign, *, is_new: bool, at: datetime) -> TimeLine:
    """`is_new`: never launched. Without `starts_at`, a launch sets the start."""
    zone = campaign.brand.zone
    if is_new and campaign.starts_at is None:
        ends_text = moment_text(campaign.ends_at, zone) if campaign.ends_at else _("no end")
        return TimeLine(begins=_("starts when you launch it"), ends=ends_text, left="", percent=None)
    begins, ends = campaign.starts_at or campaign.created_at, campaign.ends_at
    percent = None
    if ends is not None:
        whole = (ends - begins).total_seconds()
        percent = round(min(100.0, max(0.0, 100 * (at - begins).total_seconds() / whole)), 1) if whole > 0 else 100.0
    return TimeLine(
        begins=moment_text(begins, zone),
        ends=moment_text(ends, zone) if ends else _("no end"),
        left=_left(campaign, at),
        percent=percent,
    )


def _left(campaign: Campaign, at: datetime) -> str:
    brand = campaign.brand
    today = brand.day_at(at)
    if campaign.ends_at is not None and campaign.ends_at <= at:
        return _ago((today - brand.day_at(campaign.ends_at)).days)
    if campaign.starts_at is not None and campaign.starts_at > at:
        days = (brand.day_at(campaign.starts_at) - today).days
        if not days:
            return _("begins today")
        return ngettext("begins in %(days)s day", "begins in %(days)s days", days) % {"days": grouped(days)}
    if campaign.ends_at is None:
        return _("runs until somebody ends it")
    days = (brand.day_at(campaign.ends_at) - today).days
    if not days:
        return _("ends today")
    return ngettext("%(days)s day left", "%(days)s days left", days) % {"days": grouped(days)}


def _ago(days: int) -> str:
    if not days:
        return _("ended today")
    return ngettext("ended %(days)s day ago", "ended %(days)s days ago", days) % {"days": grouped(days)}


def after_the_end(campaign: Campaign) -> list[str]:
    """What happens to members, rewards and codes after the end."""
    return [
        _("After that, no one makes progress in it. Progress stays visible to staff."),
        _("Earned rewards remain: members can still claim them, and tills still accept their codes."),
        *linked_batches.terms_of(campaign),
    ]


def days_chart(campaign: Campaign, results: CampaignResults, *, at: datetime) -> Chart | None:
    """The days from the start, at least MIN_DAYS and at most the last CHART_DAYS; None before the first result."""
    if not results.days:
        return None
    ends = min(at, campaign.ends_at) if campaign.ends_at else at
    last = max(campaign.brand.day_at(ends), *results.days)
    begins = campaign.brand.day_at(campaign.starts_at or campaign.created_at)
    first = max(min(begins, *results.days), last - timedelta(days=CHART_DAYS - 1))
    first = min(first, last - timedelta(days=MIN_DAYS - 1))
    return chart_of(results.days, first=first, last=last)


@dataclass(frozen=True, slots=True)
class DayLine:
    day: date
    begun: str
    won: str
    points: str

    @property
    def label(self) -> str:
        return date_format(self.day, "SHORT_DATE_FORMAT")


def day_lines(results: CampaignResults) -> Sequence[DayLine]:
    """The table behind the chart, latest day first."""
    days = sorted(results.days.items(), reverse=True)[:CHART_DAYS]
    return [DayLine(day, grouped(it.begun), grouped(it.won), format_number(it.points)) for day, it in days]
