"""The replay: each past action is decided by the rules as they stood, which must give what the ledger has, and by the
same rules with a draft beside them. It writes nothing."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

import psycopg

from brands.models.tenants import Brand
from campaigns.earning.action_context import ActionContext
from campaigns.earning.fields import ORDER
from campaigns.replay import actions
from campaigns.replay.actions import MERGED, MOVES, RELEASED, RETURNED, PastAction, Replayable
from campaigns.replay.contexts import Contexts
from campaigns.replay.decisions import Entry, World, agree
from campaigns.replay.members import ZERO, Member, Members
from campaigns.replay.rule_history import RuleHistory
from campaigns.replay.terms import Terms, TermsHistory
from campaigns.replay.totals import Costs, Totals
from loyalty.orders.holds import hold_of_orders
from loyalty.points.explanations import shares_of

Progress = Callable[[int, int], None]


def _silent(_done: int, _total: int) -> None:
    """Nobody asks."""


def replay(
    *,
    brand: Brand,
    rule_id: int,
    content: Mapping[str, Any],
    since: datetime,
    until: datetime,
    raw: "psycopg.Connection[Any]",
    progress: Progress = _silent,
) -> dict[str, Any]:
    """Try a rule, by its id and `content` (see rules.content_of), on the actions credited from `since` to `until`.

    `progress` hears how many actions are done, of how many; it may raise. The actions are read from `raw`, in its
    transaction. Returns Totals.as_json, and how many entries have no event any more (`without_event`).
    Raises ConditionsError or LimitsError for content that cannot be read.
    """
    return _Replay(brand, RuleHistory(brand.pk, rule_id=rule_id, content=content), since, until).run(raw, progress)


class _Replay:
    """What one replay holds while it runs."""

    def __init__(self, brand: Brand, rules: RuleHistory, since: datetime, until: datetime) -> None:
        self.brand, self.rules, self.since, self.until = brand, rules, since, until
        self.terms = TermsHistory(brand.pk)
        self.contexts = Contexts(brand, self.terms)
        # What one member got leaves a budget less for others: then time must pass for all of them at once.
        self.by_moment = rules.has_budgets(since, until)
        self.members = Members(
            brand_id=brand.pk,
            since=since,
            terms=self.terms.at(since),
            has_limits=any(rules.limits.values()),
            has_level_periods=self.terms.have_level_periods,
        )
        self.now, self.then = World(rules.limits), World(rules.limits)
        self.holds_orders = hold_of_orders(brand) is not None
        self.totals = Totals()

    def run(self, raw: "psycopg.Connection[Any]", progress: Progress) -> dict[str, Any]:
        period = actions.period_parameters(brand_id=self.brand.pk, since=self.since, until=self.until)
        if self.by_moment:
            self.now.budgets = self.members.budgets(raw)
            self.then.budgets = dict(self.now.budgets)
        total = actions.count(raw, actions.COUNT_ACTIONS, period)
        entries = actions.count(raw, actions.COUNT_ENTRIES, period)
        progress(0, total)
        done = 0
        with actions.pages(
            raw, brand_id=self.brand.pk, since=self.since, until=self.until, by_moment=self.by_moment
        ) as pages:
            for page in pages:
                self._page(page)
                done += len(page)
                progress(done, max(done, total))
        self.totals.close(self.members.take(but=None))
        result = self.totals.as_json(Costs(self.brand.pk))
        return {**result, "members": self.members.met, "without_event": max(0, entries - self.totals.entries)}

    def _page(self, page: Sequence[PastAction]) -> None:
        self.members.load({action.user_id for action in page})
        for action, past in zip(page, self.contexts.of(page), strict=True):
            member, terms = self.members[action.user_id], self.terms.at(action.at)
            if action.kind in MOVES:
                move(member, action, terms)
            else:
                self._action(action, past, member, terms)
        if not self.by_moment:
            self.totals.close(self.members.take(but=page[-1].user_id))

    def _action(self, action: PastAction, past: Replayable | None, member: Member, terms: Terms) -> None:
        place(member, action, terms)
        levels = member.now.level, member.then.level
        paid: Sequence[Entry] = ()
        tried: Sequence[Entry] = ()
        if past is not None:
            paid, tried = self._decide(action, past, member, terms)
        elif not action.is_rejected:
            self.totals.gone += 1
            paid = tried = recorded(action)
        if member.is_shared and not alike(paid, tried):
            member.part()
        self.now.advance(action, paid, member.now, terms)
        if member.is_shared:
            self.then.give(tried)
        else:
            self.then.advance(action, tried, member.then, terms)
        day = action.at.astimezone(terms.zone).date()
        before, after = self.totals.count(day, levels, paid, tried)
        member.paid += before
        member.tried += after
        if action.is_pending and action.number is not None and before != after:
            member.pending = {**(member.pending or {}), action.number: after - before}

    def _decide(
        self, action: PastAction, past: Replayable, member: Member, terms: Terms
    ) -> tuple[Sequence[Entry], Sequence[Entry]]:
        """What it brought, compared with what the rules as they stood give; and what it brings with the draft."""
        version = self.rules.version_at(action.at) if action.rules is None else action.rules
        context = self.now.context(past, member.now, terms)
        decided = self.now.award(action, past.reasons, context, member.now, terms, self.rules.as_it_stood(version))
        paid = self._compared(action, decided)
        if self._is_untouched(past, context, member, version):
            return paid, paid
        if not member.is_shared:
            context = self.then.context(past, member.then, terms)
        reasons = [each for each in past.reasons if each.reason_id not in (member.claimed or ())]
        tried = self.then.award(action, reasons, context, member.then, terms, self.rules.with_draft(version))
        if not action.is_rejected:
            return paid, tried
        tried = [entry for entry in tried if entry.points]
        if tried:
            action.is_pending = self.holds_orders and action.kind == ORDER
            member.claimed = (member.claimed or set()) | {entry.reason_id for entry in tried}
        return paid, tried

    def _compared(self, action: PastAction, decided: Sequence[Entry]) -> Sequence[Entry]:
        """What the ledger has, from which the member goes on, whether the rules decide it so or not."""
        self.totals.compared += 1
        if action.is_rejected:
            if any(entry.points for entry in decided):
                self.totals.differs(action, decided)
            return ()
        if agree(decided, action.entries):
            return decided
        self.totals.differs(action, decided)
        return recorded(action)

    def _is_untouched(self, past: Replayable, context: ActionContext, member: Member, version: int) -> bool:
        """Whether the draft makes no difference: to a member as they really are, by an action that it is not for."""
        if self.by_moment or not member.is_shared or self.rules.has_own(version):
            return False
        if past.context.kind != self.rules.kind:
            return True
        return len(past.reasons) == 1 and not self.rules.draft.rule.test(context)


def place(member: Member, action: PastAction, terms: Terms) -> None:
    """The level before the first action: as the action's event says it, unless the action itself changed it.

    Where levels have periods, that before each action, with the draft too: a draft moves no level there.
    """
    if terms.has_level_periods:
        member.is_placed = True
        level = member.levels.before(at=action.at, after=action.level)
        for branch in member.branches:
            branch.level = branch.level if level is None else level
        return
    if member.is_placed or action.level is None:
        return
    member.is_placed = True
    if not action.level_updated:
        for branch in member.branches:
            branch.level = action.level
            branch.climb(terms)


def move(member: Member, action: PastAction, terms: Terms) -> None:
    """What else changed lifetime points counts as it happened, but for what the draft gave more, or less, of an order
    whose points are released."""
    for branch in member.branches:
        points = action.points or ZERO
        if action.kind == RELEASED and branch is member.then and not member.is_shared:
            points += (member.pending or {}).get(action.number or 0, ZERO)
        if action.kind == RETURNED:
            branch.lifetime -= points
            if terms.lowers_levels:
                branch.descend(terms)
        else:
            branch.lifetime += points
            branch.climb(terms)
        if action.kind == MERGED:
            branch.take_over(action.payload or {})


def recorded(action: PastAction) -> list[Entry]:
    return [
        Entry(reason_id, points, None if shares is None else shares_of({"shares": shares}))
        for reason_id, points, shares in action.entries
    ]


def alike(paid: Sequence[Entry], tried: Sequence[Entry]) -> bool:
    """Whether a member stands the same after both."""
    return paid is tried or (
        len(paid) == len(tried)
        and all(
            one.reason_id == other.reason_id and one.points == other.points and _rule_points(one) == _rule_points(other)
            for one, other in zip(paid, tried, strict=True)
        )
    )


def _rule_points(entry: Entry) -> list[tuple[int | None, Any]]:
    return [(share.rule_id, share.points) for share in entry.shares or () if share.rule_id is not None]
