"""Why a ledger entry has its points: the shares of rules and levels, as stored and as text.

Stores only a rule's name and the numbers of its calculation, no personal data. An erasure need not change it.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from core import languages
from core.numbers import half_up, plural_number
from core.translations import text_of

LEVEL, OVERRIDE, DEFAULT, REWARD, RULE = "level", "override", "default", "reward", "rule"
# Default names of rules: the titles of their kinds, in English. Only these are translated.
KIND_TITLES = {
    "Product scanned",
    "Order completed",
    "Profile field completed",
    "First login of the day",
    "Milestone that pays points",
    "Member joined",
    "Member's birthday",
}


class Cut(NamedTuple):
    """The limit that reduced a share: the rule's (`per` member or rule), or the brand's (`per` brand)."""

    per: str
    what: str
    period: str
    most: Decimal

    def as_json(self) -> dict[str, str]:
        return {"per": self.per, "what": self.what, "period": self.period, "most": plain_text(self.most)}


class Share(NamedTuple):
    """What one rule or level gave of an entry's points. `basis` is the amount or points to which its effect applied.

    `source` says what gave it. `name` is the rule's or level's name at that time; `names` are its translations.
    """

    source: str
    effect: str
    value: Decimal
    points: Decimal
    basis: Decimal | None = None
    items: int = 1
    name: str = ""
    names: Mapping[str, Any] | None = None
    rule_id: int | None = None
    version: int | None = None
    cut: Cut | None = None

    def as_json(self) -> dict[str, Any]:
        result: dict[str, Any] = {
            "source": self.source,
            "effect": self.effect,
            "value": plain_text(self.value),
            "points": plain_text(self.points),
        }
        more = {
            "basis": None if self.basis is None else plain_text(self.basis),
            "items": self.items if self.items != 1 else None,
            "name": self.name,
            "names": self.names,
            "rule": self.rule_id,
            "version": self.version,
            "cut": self.cut and self.cut.as_json(),
        }
        return result | {name: value for name, value in more.items() if value}

    def text(self, language: str) -> str:
        """The share as text in the active language. `language` selects among the rule's translated names."""
        own = languages.translated(self.name) if self.source == RULE and self.name in KIND_TITLES else self.name
        name = text_of(self.names, "name", own, language)
        calculated = self._calculated()
        text = f"{name}: {calculated}" if name else calculated
        return f"{text} ({cut_text(self.cut)})" if self.cut else text

    def _calculated(self) -> str:
        places = {
            "value": _display(self.value),
            "basis": _display(self.basis or Decimal(0)),
            "points": _display(self.points),
        }
        if self.effect == "percentage":
            message = _("%(value)s %% of %(basis)s = %(points)s")
        elif self.effect == "multiplier":
            message = _("%(value)s x %(basis)s, that is %(points)s more")
        elif self.items != 1:
            places["items"] = str(self.items)
            message = _("%(items)s x %(value)s = %(points)s")
        elif self.source == OVERRIDE:
            message = _("%(points)s for this product")
        else:
            message = "%(points)s"
        return message % places


def cut_text(cut: Cut) -> str:
    """Names the limit that reduced the share."""
    places = {"most": _display(cut.most)}
    if cut.per == "brand":
        message = {"day": _("the programme's daily limit"), "month": _("the programme's monthly limit")}
        return message.get(cut.period, _("the programme's limit"))
    if cut.per == "rule":
        return _("all that there was to give has been given")
    if cut.what == "events":
        most = plural_number(cut.most)
        message = {
            "day": ngettext("at most %(most)s time a day", "at most %(most)s times a day", most),
            "week": ngettext("at most %(most)s time a week", "at most %(most)s times a week", most),
            "month": ngettext("at most %(most)s time a month", "at most %(most)s times a month", most),
        }
        return message.get(cut.period, ngettext("at most %(most)s time", "at most %(most)s times", most)) % places
    message = {
        "event": _("at most %(most)s at a time"),
        "day": _("at most %(most)s a day"),
        "week": _("at most %(most)s a week"),
        "month": _("at most %(most)s a month"),
    }
    return message.get(cut.period, _("at most %(most)s in all")) % places


def details_of(
    shares: Sequence[Share], *, rules_version: int, names: Mapping[str, Mapping[str, str]] | None = None
) -> dict[str, Any]:
    """The details that a ledger entry stores: the version of the brand's rules, and each share.

    `names` are translations of the values in the entry's note.
    """
    details = {"rules": rules_version, "shares": [share.as_json() for share in shares]}
    return {**details, "names": names} if names else details


def shares_of(details: Mapping[str, Any] | None) -> list[Share]:
    """The stored shares. Empty for older entries and for those that no rule decided."""
    return [_share(each) for each in (details or {}).get("shares", ())]


def texts_of(details: Mapping[str, Any] | None, language: str) -> list[str]:
    """One sentence for each share, in the active language."""
    return [share.text(language) for share in shares_of(details)]


def _share(data: Mapping[str, Any]) -> Share:
    cut = data.get("cut")
    return Share(
        source=data["source"],
        effect=data["effect"],
        value=Decimal(data["value"]),
        points=Decimal(data["points"]),
        basis=Decimal(data["basis"]) if "basis" in data else None,
        items=data.get("items", 1),
        name=data.get("name", ""),
        names=data.get("names"),
        rule_id=data.get("rule"),
        version=data.get("version"),
        cut=Cut(cut["per"], cut["what"], cut["period"], Decimal(cut["most"])) if cut else None,
    )


def plain_text(number: Decimal) -> str:
    """Without trailing zeros, such as 10 and 49.9."""
    return f"{number.normalize():f}"


def _display(number: Decimal) -> str:
    """For customers, in the active language: whole, or with two decimals."""
    return number_format(half_up(number, 2), decimal_pos=0 if number == number.to_integral_value() else 2)
