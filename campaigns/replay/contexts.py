"""The contexts of past actions as their handlers build them, a page at a time in a few statements."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string

from brands.models.tenants import Brand
from campaigns.accrual import handlers, own_kinds, welcome
from campaigns.accrual.types import AccrualReason
from campaigns.earning.action_context import ActionContext, Item
from campaigns.models.earning_rules import EarningRule
from campaigns.replay.actions import MILESTONE_EVENT, PastAction, Replayable
from campaigns.replay.terms import TermsHistory
from core.db.statements import query
from loyalty.errors import CurrencyNotAccepted
from loyalty.models.orders import CurrencyRate
from loyalty.points import orders
from loyalty.points.orders import Order

Kind = EarningRule.Kind
Result = list[Replayable | None]  # None: the action cannot be decided again, so what was paid is used


@dataclass(frozen=True, slots=True)
class ProductRow:
    """A row of fetch_catalogue.sql."""

    id: int
    sku: str
    category: str
    tags: list[str]


@dataclass(frozen=True, slots=True)
class ClaimedRow:
    """A row of fetch_claimed.sql."""

    user_id: int
    reason_id: str
    at: datetime


FETCH_CATALOGUE = query("campaigns/replay/sql/fetch_catalogue.sql", returns=ProductRow)
FETCH_CLAIMED = query("campaigns/replay/sql/fetch_claimed.sql", returns=ClaimedRow)


class Contexts:
    """For one brand. Uses the current products, currency rates and codes."""

    def __init__(self, brand: Brand, history: TermsHistory, own: Collection[str]) -> None:
        self._brand, self._history = brand, history
        self._rates: dict[str, Decimal] = dict(CurrencyRate.objects.filter(brand=brand).values_list("currency", "rate"))
        self._by_kind: dict[str, Callable[[Sequence[PastAction]], Result]] = {
            Kind.ORDER: self._orders,
            Kind.PROFILE: lambda actions: [self._profile(action) for action in actions],
            Kind.LOGIN: lambda actions: [self._login(action) for action in actions],
            Kind.WELCOME: lambda actions: [self._welcome(action) for action in actions],
            MILESTONE_EVENT: lambda actions: [self._milestone(action) for action in actions],
            **dict.fromkeys(own, lambda actions: [self._own(action) for action in actions]),
        }

    def of(self, page: Sequence[PastAction]) -> Result:
        """The context of each action of a page; None for moves and for actions that cannot be decided again."""
        result: Result = [None] * len(page)
        by_kind: dict[str, list[int]] = {}
        for place, action in enumerate(page):
            if action.payload is not None:
                by_kind.setdefault(action.kind, []).append(place)
        for kind, places in by_kind.items():
            actions = [page[place] for place in places]
            if kind in settings.REPLAY_CONTEXTS:
                ceilings = [self._history.at(action.at).ceiling for action in actions]
                contexts = import_string(settings.REPLAY_CONTEXTS[kind])(self._brand.pk, actions, ceilings)
            elif kind in self._by_kind:
                contexts = self._by_kind[kind](actions)
            else:
                continue
            for place, each in zip(places, contexts, strict=True):
                result[place] = each
        self._leave_out_claimed(page, result)
        return result

    def _leave_out_claimed(self, page: Sequence[PastAction], result: Result) -> None:
        """Remove reasons that had earned before; for rejected actions, those that earned at any time."""
        unsure = [
            (action, past)
            for action, past in zip(page, result, strict=True)
            if past is not None and (action.is_rejected or action.kind == Kind.PROFILE)
        ]
        if not unsure:
            return
        users = list({action.user_id for action, _past in unsure})
        reason_ids = list({reason.reason_id for _action, past in unsure for reason in past.reasons})
        rows = FETCH_CLAIMED.all(brand_id=self._brand.pk, user_ids=users, reason_ids=reason_ids)
        claimed = {(row.user_id, row.reason_id): row.at for row in rows}
        for action, past in unsure:
            past.reasons = [
                reason
                for reason in past.reasons
                if (at := claimed.get((action.user_id, reason.reason_id))) is None
                or (not action.is_rejected and at >= action.at)
            ]

    def _orders(self, actions: Sequence[PastAction]) -> Result:
        result = [self._order(action) for action in actions]
        items = [item for past in result if past for item in past.context.items]
        if items:
            known = FETCH_CATALOGUE.all(
                brand_id=self._brand.pk,
                products=list({item.product_id for item in items if item.product_id}),
                skus=list({item.sku for item in items if item.sku}),
            )
            by_id = {row.id: row for row in known}
            by_sku = {row.sku: row for row in known}
            for past in result:
                if past is not None and past.context.items:
                    own = [by_id.get(each.product_id or 0) or by_sku.get(each.sku) for each in past.context.items]
                    past.catalogue = [Item(row.id, row.sku, row.category, frozenset(row.tags)) for row in own if row]
                    past.context = past.context.in_catalogue(past.catalogue)
        return result

    def _order(self, action: PastAction) -> Replayable | None:
        payload: Any = action.payload
        try:
            order = Order.of(payload)
            amount = orders.converted(order, own=self._brand.currency, rate_of=self._rates.get)
        except (CurrencyNotAccepted, LookupError, ArithmeticError, TypeError):
            return None
        context = handlers.order_of(payload, amount=amount, happened_at=action.happened_at)
        return Replayable(context, [AccrualReason(order.reason_id, "")])

    def _context(self, context_of: Callable[..., ActionContext], action: PastAction) -> ActionContext:
        """The action's context, by the function that its handler uses."""
        return context_of(
            action.payload, brand_id=self._brand.pk, user_id=action.user_id, happened_at=action.happened_at
        )

    def _profile(self, action: PastAction) -> Replayable | None:
        payload: Any = action.payload
        context = self._context(handlers.profile_context, action)
        fields = dict.fromkeys(payload.get("completedFields") or ())
        return Replayable(context, [AccrualReason(f"profile:{name}", "", name) for name in fields]) if fields else None

    def _login(self, action: PastAction) -> Replayable:
        context = self._context(handlers.login_context, action)
        day = action.happened_at.astimezone(self._history.at(action.at).zone).date()
        return Replayable(context, [AccrualReason(f"login:{day}", "")])

    def _welcome(self, action: PastAction) -> Replayable:
        return Replayable(self._context(handlers.welcome_context, action), [AccrualReason(welcome.REASON, "")])

    def _own(self, action: PastAction) -> Replayable:
        payload: Any = action.payload
        context = ActionContext(kind=action.kind, happened_at=action.happened_at, payload=payload)
        return Replayable(context, [AccrualReason(own_kinds.reason_id_by(action.kind, action.identity or ""), "")])

    def _milestone(self, action: PastAction) -> Replayable | None:
        payload: Any = action.payload
        if not payload.get("milestone_id"):
            return None
        context = handlers.milestone_context(payload, happened_at=action.happened_at)
        return Replayable(context, [AccrualReason(handlers.milestone_reason_id(payload), "")])
