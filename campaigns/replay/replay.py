"""The replay: decides each past action by the rules in force then (the control, which must match the ledger), and again
with a draft. It writes nothing."""

import gc
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from typing import Any

import psycopg

from brands.models.tenants import Brand
from campaigns.accrual.snapshot import parse_levels
from campaigns.accrual.types import AccrualReason, context_of
from campaigns.earning.action_context import ActionContext
from campaigns.earning.fields import ORDER
from campaigns.replay import actions, drafts
from campaigns.replay.actions import (
    MERGED,
    MILESTONE_EVENT,
    MOVES,
    RELEASED,
    RETURNED,
    WELCOME,
    EarnedPoints,
    PastAction,
    Replayable,
)
from campaigns.replay.campaign_trial import CampaignTrial
from campaigns.replay.contexts import Contexts
from campaigns.replay.decisions import Decider, is_as_recorded
from campaigns.replay.drafts import Draft
from campaigns.replay.member_states import ZERO, Member, Members
from campaigns.replay.rule_history import RuleHistory
from campaigns.replay.terms import Terms, TermsHistory
from campaigns.replay.totals import Totals
from loyalty.orders.holds import hold_of_orders
from loyalty.programme.point_costs import PointCosts

COLLECT_AFTER = 200_000  # objects; a page always has fewer
Progress = Callable[[int, int], None]
Decided = tuple[Sequence[EarnedPoints], Sequence[EarnedPoints], ActionContext]


def _silent(_done: int, _total: int) -> None:
    """Does nothing, so the replay is never cancelled."""


def replay(
    *,
    brand: Brand,
    draft: Draft,
    since: datetime,
    until: datetime,
    raw: "psycopg.Connection[Any]",
    progress: Progress = _silent,
) -> dict[str, Any]:
    """Try a draft on the actions credited from `since` to `until`.

    `progress` gets the number of actions done and the total, and may raise. The actions are read from `raw`, in its
    transaction. Returns Totals.as_json, the number of entries whose event was deleted (`without_event`) and, for a
    campaign, CampaignTrial.as_json (`campaign`). Raises ConditionsError or LimitsError if the draft cannot be read.
    """
    return _Replay(brand, draft, since, until).run(raw, progress)


class _Replay:
    """The state of a running replay."""

    def __init__(self, brand: Brand, draft: Draft, since: datetime, until: datetime) -> None:
        self.brand, self.since, self.until = brand, since, until
        is_rule = draft.kind == drafts.Kind.RULE
        self.rules = RuleHistory(
            brand.pk, rule_id=draft.rule_id if is_rule else None, content=draft.content if is_rule else None
        )
        self.campaign = CampaignTrial(draft.content) if draft.kind == drafts.Kind.CAMPAIGN else None
        self.terms = self.drafted_terms = TermsHistory.of(brand.pk)
        self.tries_levels = draft.kind == drafts.Kind.LEVELS
        if self.tries_levels:
            self.drafted_terms = self.terms.with_levels(parse_levels(draft.content["levels"]))
        own_kinds = actions.own_kinds_of(brand.pk)
        self.contexts = Contexts(brand, self.terms, own_kinds)
        has_limits, has_budgets = self.rules.has_limits(since, until)
        # With a budget, what one member gets reduces what is left for others, so all members advance in order of time.
        self.by_moment = has_budgets or (self.campaign is not None and self.campaign.has_budget)
        self.members = Members(
            brand_id=brand.pk,
            since=since,
            terms=self.terms.at(since),
            drafted_terms=self.drafted_terms.at(since),
            has_limits=has_limits,
            own_kinds=own_kinds,
            has_level_periods=self.terms.have_level_periods,
        )
        self.control, self.drafted = (
            Decider(self.rules.limits, frozenset(own_kinds), self.terms.ever_limits_points) for _way in range(2)
        )
        self.period = actions.period_parameters(
            brand_id=brand.pk, since=since, until=until, own_kinds=own_kinds, joins=self.rules.kind == WELCOME
        )
        self.holds_orders = hold_of_orders(brand) is not None
        self.totals = Totals()
        self.paid_by_milestone: defaultdict[int, Decimal] = defaultdict(Decimal)

    def run(self, raw: "psycopg.Connection[Any]", progress: Progress) -> dict[str, Any]:
        if self.by_moment:
            self.control.budgets = self.members.budgets(raw)
            self.drafted.budgets = dict(self.control.budgets)
        total = actions.count(raw, actions.COUNT_ACTIONS, self.period)
        entries = actions.count(raw, actions.COUNT_ENTRIES, self.period)
        progress(0, total)
        done = 0
        with actions.pages(raw, self.period, by_moment=self.by_moment) as pages, infrequent_gc():
            for page in pages:
                self._page(page)
                done += len(page)
                progress(done, max(done, total))
        self.totals.close(self.members.take(but=None))
        result = self.totals.as_json(PointCosts(self.brand.pk))
        result |= {"members": self.members.met, "without_event": max(0, entries - self.totals.entries)}
        if self.campaign:
            paid = self.paid_by_milestone
            result["campaign"] = self.campaign.as_json(since=self.since, until=self.until, paid=paid)
        return result

    def _page(self, page: Sequence[PastAction]) -> None:
        self.members.load({action.user_id for action in page})
        for action, past in zip(page, self.contexts.of(page), strict=True):
            member, terms = self.members[action.user_id], self.terms.at(action.at)
            drafted_terms = self.drafted_terms.at(action.at) if self.tries_levels else terms
            if action.kind in MOVES:
                move(member, action, terms, drafted_terms)
            else:
                self._action(action, past, member, terms, drafted_terms)
        if not self.by_moment:
            self.totals.close(self.members.take(but=page[-1].user_id))

    def _action(
        self, action: PastAction, past: Replayable | None, member: Member, terms: Terms, drafted_terms: Terms
    ) -> None:
        if terms.has_level_periods or (not member.is_placed and action.level is not None):
            self._place(member, action, terms)
        actual, level, drafted_level = member.actual, member.actual.level, member.drafted.level
        paid: Sequence[EarnedPoints] = ()
        tried: Sequence[EarnedPoints] = ()
        context: ActionContext | None = None
        if past is not None:
            paid, tried, context = self._decide(action, past, member, terms, drafted_terms)
        elif not action.is_rejected:
            self.totals.gone += 1
            paid = tried = action.entries
        if paid is not tried and member.drafted is actual and not same_points(paid, tried):
            member.part()
        local = action.at.astimezone(terms.zone)
        self.control.advance(action.kind, paid, local, actual, terms, is_pending=action.is_pending)
        if member.drafted is actual:
            self.drafted.use_limits(tried, local)
        else:
            self.drafted.advance(action.kind, tried, local, member.drafted, drafted_terms, is_pending=action.is_pending)
        day = local.date()
        before, after = self.totals.count(day, level, drafted_level, paid, tried)
        member.paid += before
        member.tried += after
        if action.is_pending and action.number is not None and before != after:
            member.pending = {**(member.pending or {}), action.number: after - before}
        if self.campaign and past is not None and context is not None and self.campaign.counts(context):
            self._advance_campaign(self.campaign, action, past, context, member, drafted_terms, has_entries=bool(tried))

    def _place(self, member: Member, action: PastAction, terms: Terms) -> None:
        """Set the level before the first action: the one that its event recorded, unless the action itself changed it.

        With drafted levels, the drafted state keeps the level that its lifetime points reach. If levels have periods,
        set the actual level before each action in both states: a draft does not change levels then.
        """
        member.is_placed = True
        if terms.has_level_periods:
            level = member.levels.before(at=action.at, after=action.level)
            for state in member.states:
                state.level = state.level if level is None else level
            return
        if not action.level_updated and action.level is not None:
            for state in [member.actual] if self.tries_levels else member.states:
                state.level = action.level
                state.climb(terms)

    def _decide(
        self, action: PastAction, past: Replayable, member: Member, terms: Terms, drafted_terms: Terms
    ) -> Decided:
        """What the action paid, after a comparison with the control; what it earns with the draft; and its context for
        the member with the draft."""
        version = self.rules.version_at(action.at) if action.rules is None else action.rules
        rules = self.rules.with_draft(version)
        actual, drafted = member.actual, member.drafted
        context = self.control.context(past.context, actual, terms)
        decided = self.control.award(past.reasons, context, action.at, actual, terms, rules.stood)
        paid = self._compared(action, decided)
        if self._is_replaced(action):
            self.paid_by_milestone[past.context.payload["milestone_id"]] += sum(entry.points for entry in paid)
            return paid, (), context
        if drafted is actual:
            if not self.by_moment and self._is_untouched(past, context, has_own=rules.has_own):
                return paid, paid, context
        else:
            context = self.drafted.context(past.context, drafted, drafted_terms)
        reasons = past.reasons
        if member.claimed:
            reasons = [each for each in reasons if each.reason_id not in member.claimed]
        tried = self.drafted.award(reasons, context, action.at, drafted, drafted_terms, rules)
        if not action.is_rejected:
            return paid, tried, context
        tried = [entry for entry in tried if entry.points]
        if tried:
            action.is_pending = self.holds_orders and action.kind == ORDER
            member.claimed = (member.claimed or set()) | {entry.reason_id for entry in tried}
        return paid, tried, context

    def _is_replaced(self, action: PastAction) -> bool:
        """Whether it is a milestone's reward of a campaign that the drafted one replaces."""
        if self.campaign is None or action.kind != MILESTONE_EVENT or action.payload is None:
            return False
        return action.payload.get("campaign_id") in self.campaign.replaces

    def _compared(self, action: PastAction, decided: Sequence[EarnedPoints]) -> Sequence[EarnedPoints]:
        """Compare the control with the ledger; returns the ledger's entries, from which the member continues."""
        self.totals.compared += 1
        if action.is_rejected:
            if any(entry.points for entry in decided):
                self.totals.differs(action, decided)
            return ()
        if is_as_recorded(decided, action.entries):
            return decided
        self.totals.differs(action, decided)
        return action.entries

    def _is_untouched(self, past: Replayable, context: ActionContext, *, has_own: bool) -> bool:
        """Whether the draft cannot affect this action of a member whose state is still the actual one."""
        if self.rules.draft is None:
            return True
        if has_own:
            return False
        if past.context.kind != self.rules.kind:
            return True
        if len(past.reasons) != 1:
            return False
        return not self.rules.draft.rule.test(context_of(past.reasons[0], context))

    def _advance_campaign(
        self,
        campaign: CampaignTrial,
        action: PastAction,
        past: Replayable,
        context: ActionContext,
        member: Member,
        terms: Terms,
        *,
        has_entries: bool,
    ) -> None:
        """Count the action in the drafted campaign, and credit the points of the milestones that it reaches."""
        if action.is_rejected and not has_entries:
            # No rule or campaign was for it then; if the drafted campaign counts it, each reason counts once.
            past.reasons = [each for each in past.reasons if each.reason_id not in (member.claimed or ())]
            has_entries = bool(past.reasons)
        if not has_entries:
            return
        was = member.campaign
        reached = campaign.count(member, past, context)
        if action.is_rejected and member.campaign is not was:
            member.claimed = (member.claimed or set()) | {each.reason_id for each in past.reasons}
        paying = [stop for stop in reached if not stop.is_thing]
        if not paying:
            return
        member.part()
        local = action.at.astimezone(terms.zone)
        rules = self.rules.with_draft(self.rules.version_at(action.at) if action.rules is None else action.rules)
        for stop in paying:
            reason_id, milestone = campaign.award_of(stop, action.at)
            milestone = self.drafted.context(milestone, member.drafted, terms)
            reasons, level = [AccrualReason(reason_id, "")], member.drafted.level
            entries = self.drafted.award(reasons, milestone, action.at, member.drafted, terms, rules)
            self.drafted.advance(MILESTONE_EVENT, entries, local, member.drafted, terms)
            points = self.totals.add_tried(local.date(), level, entries)
            member.tried += points
            campaign.paid(stop, points)


@contextmanager
def infrequent_gc() -> Iterator[None]:
    """Collect garbage less often: a page's actions have no cycles, and searching them takes a quarter of the time."""
    before = gc.get_threshold()
    gc.set_threshold(COLLECT_AFTER, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def move(member: Member, action: PastAction, terms: Terms, drafted_terms: Terms) -> None:
    """Apply other changes of lifetime points as they happened, corrected by what the draft gave more or less for an
    order whose points are released."""
    for state in member.states:
        points, own_terms = action.points, terms if state is member.actual else drafted_terms
        if action.kind == RELEASED and state is not member.actual:
            points += (member.pending or {}).get(action.number or 0, ZERO)
        if action.kind == RETURNED:
            state.lifetime -= points
            if terms.lowers_levels:
                state.descend(own_terms)
        else:
            state.lifetime += points
            state.climb(own_terms)
        if action.kind == MERGED:
            state.take_over(action.payload or {})


def same_points(paid: Sequence[EarnedPoints], tried: Sequence[EarnedPoints]) -> bool:
    """Whether both leave a member in the same state."""
    return len(paid) == len(tried) and all(
        one.reason_id == other.reason_id and one.points == other.points and _rule_points(one) == _rule_points(other)
        for one, other in zip(paid, tried, strict=True)
    )


def _rule_points(entry: EarnedPoints) -> list[tuple[int | None, Any]]:
    return [(share.rule_id, share.points) for share in entry.shares or () if share.rule_id is not None]
