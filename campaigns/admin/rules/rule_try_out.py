"""The test bench of earning rules: an unsaved rule as a sentence, and what a member would earn by it."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from django.conf import settings
from django.utils import timezone
from django.utils.module_loading import import_string
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _
from rest_framework.exceptions import ValidationError

from brands.models.tenants import Brand
from campaigns.accrual import trial
from campaigns.accrual.trial import Trial
from campaigns.earning import checks, own_fields, sentences
from campaigns.earning.action_context import ActionContext, Item, Place, ScanBase
from campaigns.earning.stacking import Award
from campaigns.intake import own_kinds
from campaigns.models.earning_rules import EarningRule, is_own_kind
from campaigns.models.event_kinds import EventKindField
from core.errors import DomainError, Invalid
from core.json_values import json_safe
from core.numbers import is_id, plural_number
from events.models import Event
from loyalty.points import explanations

ZERO = Decimal(0)
FieldType = EventKindField.Type
LATEST = 20
MAX_NUMBER = Decimal(10) ** 9


def notes_on(rule: EarningRule) -> list[str]:
    """Other active rules that may count for the same action at the same time."""
    remaining = checks.rules_in_force(rule) if rule.brand_id else []
    message = _("Counts together with “%(name)s”: %(sentence)s")
    return [message % {"name": each, "sentence": sentences.readable(each)} for each in remaining[:5]] + (
        [_("And with %(count)d more.") % {"count": len(remaining) - 5}] if len(remaining) > 5 else []
    )


def past_events(brand: Brand, kind: str, user_id: int) -> list[tuple[str, str]]:
    """A member's latest stored actions of this kind."""
    rows = Event.objects.filter(brand=brand, detail_type=kind, detail__arguments__user_id=user_id)
    return [(str(row.pk), _described(row, brand)) for row in rows.order_by("-pk")[:LATEST]]


def _described(event: Event, brand: Brand) -> str:
    payload: Any = event.detail.get("payload", {})
    if is_own_kind(event.detail_type):
        text = ", ".join(f"{name}: {value}" for name, value in list(payload.items())[:3])
    else:
        text = (
            payload.get("product", {}).get("title")
            or payload.get("order", {}).get("orderId")
            or ", ".join(map(str, payload.get("completedFields") or ()))
            or payload.get("channel", "")
        )
    return f"{event.time.astimezone(brand.zone):%Y-%m-%d %H:%M} {text}".strip()


def context_of(brand: Brand, kind: str, user_id: int, entered: Mapping[str, str]) -> ActionContext:
    """The chosen past action, or the entered example. Raises Invalid."""
    if entered.get("event"):
        return _past_context(brand, kind, user_id, entered["event"])
    if is_own_kind(kind):
        payload = _own_payload(brand, kind, entered)
        return ActionContext(kind=kind, happened_at=_moment(brand, entered.get("at", "")), payload=payload)
    product = _product(brand, entered.get("product", ""))
    price = getattr(product, "retail_price", None)
    quantity = int(_number(entered.get("quantity") or "1")) if kind == EarningRule.Kind.ORDER else 1
    amount = _number(entered.get("amount") or "0")
    items: tuple[Item, ...] = ()
    if product is not None:
        tags = frozenset(product.tags)
        unit = amount / max(1, quantity) if kind == EarningRule.Kind.ORDER else price
        items = (Item(product.pk, product.sku, product.category, tags, quantity, unit),)
    base = None
    if kind == EarningRule.Kind.SCAN:
        base = ScanBase(getattr(product, "redeem_point_value", None), price, brand.max_points_per_scan)
    return ActionContext(
        kind=kind,
        happened_at=_moment(brand, entered.get("at", "")),
        items=items,
        place=Place(city=entered.get("city", "").strip()),
        channel=entered.get("channel", "").strip(),
        profile_field=entered.get("profile_field", "").strip() if kind == EarningRule.Kind.PROFILE else "",
        subtotal=amount if kind == EarningRule.Kind.ORDER else None,
        amount=amount if kind == EarningRule.Kind.ORDER else None,
        base=base,
        fixed_points=amount if kind == EarningRule.Kind.MILESTONE else None,
    )


def _past_context(brand: Brand, kind: str, user_id: int, event_id: str) -> ActionContext:
    path = settings.EVENT_CONTEXTS.get(kind)
    is_own = is_own_kind(kind)
    rows = Event.objects.filter(brand=brand, detail_type=kind, detail__arguments__user_id=user_id)
    event = rows.filter(pk=int(event_id)).first() if is_id(event_id) and (path or is_own) else None
    if event is None:
        raise Invalid(_("This action is no longer kept. Choose another one."))
    payload = event.detail["payload"]
    if path is None:
        return ActionContext(kind=kind, happened_at=event.time, payload=payload)
    context = import_string(path)(payload, brand_id=brand.pk, user_id=user_id, happened_at=event.time)
    if context is None:
        raise Invalid(_("This action is no longer kept. Choose another one."))
    return cast("ActionContext", context)


def _own_payload(brand: Brand, kind: str, entered: Mapping[str, str]) -> dict[str, Any]:
    """The entered example payload, checked like a received one. Raises Invalid."""
    registered = own_kinds.registered(brand, kind)
    if registered is None:
        raise Invalid(_("Events of this kind are switched off."))
    rows = {row.name: row for row in registered.fields.all()}
    values = {name: entered.get(f"{own_fields.PREFIX}{name}", "").strip() for name in rows}
    try:
        sent = {name: _as_sent(rows[name].type, text) for name, text in values.items() if text}
        return json_safe(own_kinds.parse(sent, registered))
    except ValidationError as error:
        problems: Any = error.detail
        texts = [f"{rows[name].label}: {' '.join(map(str, messages))}" for name, messages in problems.items()]
        raise Invalid(" ".join(texts)) from error


def _as_sent(type_: str, text: str) -> Any:
    """Entered text as its JSON value; unchanged if it is not a valid one."""
    if type_ == FieldType.SWITCH:
        return {"true": True, "false": False}.get(text, text)
    if type_ == FieldType.WHOLE or (type_ == FieldType.PRODUCT and len(text) < 19):
        return int(text) if text.isascii() and text.removeprefix("-").isdigit() and len(text) < 19 else text
    if type_ == FieldType.DECIMAL:
        try:
            return float(text) if text.isascii() else text
        except ValueError:
            return text
    return text


def _product(brand: Any, product_id: str) -> Any:
    return brand.products.filter(pk=int(product_id)).first() if is_id(product_id) else None


def _number(text: str) -> Decimal:
    try:
        result = Decimal(text) if text.isascii() else Decimal("NaN")
    except InvalidOperation:
        result = Decimal("NaN")
    if not result.is_finite() or not ZERO <= result <= MAX_NUMBER:
        raise Invalid(_("Write a number, such as 49.90."))
    return result


def _moment(brand: Brand, text: str) -> datetime:
    if not text:
        return timezone.now()
    try:
        result = datetime.fromisoformat(text)
    except ValueError:
        result = datetime(1, 1, 1)  # noqa: DTZ001 - naive, like what a browser sends
    if not 2000 <= result.year <= 2100:
        raise Invalid(_("Write a date and a time."))
    return result.replace(tzinfo=brand.zone)


def tried(rule: EarningRule, *, user_id: int, entered: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """The result of a trial, as titles with lines."""
    try:
        result = trial.try_rule(rule, user_id=user_id, context=context_of(rule.brand, rule.kind, user_id, entered))
    except DomainError as error:
        return [(_("Cannot be tested"), [error.message])]
    then, now = result.then.points, result.now.points
    with_rule = ngettext("With this rule: %(points)s point", "With this rule: %(points)s points", plural_number(then))
    with_rule %= {"points": sentences.display(then)}
    without = ngettext("Without it: %(points)s point", "Without it: %(points)s points", plural_number(now))
    without %= {"points": sentences.display(now)}
    return [(with_rule, _lines(result.then)), (without, _lines(result.now)), *_why_not(rule, result)]


def _why_not(rule: EarningRule, tried_rule: Trial) -> list[tuple[str, list[str]]]:
    reasons = []
    if not tried_rule.runs:
        reasons.append(_("The rule does not run at that time."))
    if tried_rule.failed:
        message = _("Not met: %(condition)s")
        reasons += [message % {"condition": sentences.row_text(row, rule.brand)} for row in tried_rule.failed]
    if not reasons and all(share.rule_id != (rule.pk or 0) for share in tried_rule.then.shares):
        reasons.append(_("Another rule of its group gives more."))
    return [(_("Why this rule does not count"), reasons)] if reasons else []


def _lines(award: Award) -> list[str]:
    details = explanations.details_of(award.shares, rules_version=0)
    return explanations.texts_of(details, get_language() or settings.LANGUAGE_CODE) or [_("Nothing.")]
