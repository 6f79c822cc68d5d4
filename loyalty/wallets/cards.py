"""Cards: the content of a member's pass, in any wallet."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.conf import settings
from django.utils import translation
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from brands.models.tenants import Brand
from brands.tenants.hostnames import hostname_of, site_at
from core.db.statements import query
from core.json_values import json_number
from core.translations import text_of
from loyalty.members import numbers
from loyalty.models.accounts import UserPoints
from loyalty.models.wallets import WalletPass
from loyalty.points import ledger, levels
from loyalty.points.levels import Level


@dataclass(frozen=True, slots=True)
class PassDesign:
    """What all passes of a brand share. Colours are in the form `#rrggbb`."""

    brand_id: int
    name: str
    background: str
    text: str
    accent: str
    logo_id: UUID | None
    support_email: str
    address: str  # the brand's site without a trailing slash, or "" without a hostname


@dataclass(frozen=True, slots=True)
class Card:
    """The content of one member's pass."""

    design: PassDesign
    member: str
    number: str
    barcode: str
    points: Decimal
    pending: Decimal
    level: Level | None
    next_level: Level | None
    language: str
    missing: Decimal  # points to the next level
    level_until: date | None  # the last day of a level that ends
    voided: bool

    @property
    def balance(self) -> int | float:
        return json_number(self.points) or 0

    def level_name(self, language: str) -> str:
        return level_in(self.level, language) if self.level else ""

    def level_until_text(self, language: str) -> str:
        """The last day of the level, formatted for the language. Empty for a level that does not end."""
        if self.level_until is None:
            return ""
        with translation.override(language):
            return date_format(self.level_until, "DATE_FORMAT")

    def progress(self, language: str) -> str:
        """The points missing to the next level, as text."""
        with translation.override(language):
            if not self.next_level:
                return _("The highest level")
            text = ngettext("%(points)s point to %(level)s", "%(points)s points to %(level)s", plural(self.missing))
            return text % {"points": json_number(self.missing), "level": level_in(self.next_level, language)}


def deleted_level(name: str) -> Level | None:
    """A member's level that the brand has deleted, or None for a member without one."""
    return Level(name, Decimal(0), "", Decimal(0)) if name else None


def level_in(level: Level, language: str) -> str:
    return text_of(level.translations, "name", level.name, language)


def plural(points: Decimal) -> int:
    """The number with which ngettext selects singular or plural; 1.50 takes the plural."""
    return 1 if points == 1 else 2


@dataclass(frozen=True, slots=True)
class CardContents:
    """The content of a card, from the database. `levels` are name, threshold, reward type, value and translations."""

    points: Decimal
    pending: Decimal
    counted: Decimal  # the points that count towards a level
    level_until: date | None
    current_level: str
    status: str
    first_name: str
    last_name: str
    is_active: bool
    brand_id: int
    brand_name: str
    colour_background: str
    colour_text: str
    colour_accent: str
    logo_id: UUID | None
    support_email: str
    is_sandbox: bool
    hostname: str | None
    levels: list[tuple[str, str, str, str, dict[str, Any]]] | None
    language: str  # the member's own language, else the brand's; may be empty

    @property
    def design(self) -> PassDesign:
        colours = (self.colour_background, self.colour_text, self.colour_accent)
        address = address_of(self.hostname)
        name = name_on_pass(self.brand_name, is_sandbox=self.is_sandbox)
        return PassDesign(self.brand_id, name, *colours, self.logo_id, self.support_email, address=address)


FETCH_CARD = query("loyalty/wallets/sql/fetch_card.sql", returns=CardContents, lifetime=ledger.lifetime_of("m"))


def design_of(brand: Brand) -> PassDesign:
    colours = (brand.colour_background, brand.colour_text, brand.colour_accent)
    address = address_of(hostname_of(brand.pk))
    name = name_on_pass(brand.name, is_sandbox=brand.is_sandbox)
    return PassDesign(brand.pk, name, *colours, brand.logo_id, brand.support_email, address=address)


def name_on_pass(name: str, *, is_sandbox: bool) -> str:
    """The brand's name, with a sandbox marker in front, because wallets cut names at the end."""
    return _("Sandbox: %(brand)s") % {"brand": name} if is_sandbox else name


def address_of(host: str | None) -> str:
    return site_at(host) if host else ""


def card_of(wallet_pass: WalletPass) -> Card:
    """The card for the account's current state."""
    account = wallet_pass.account_id
    card = FETCH_CARD.first(account=account)
    assert card  # noqa: S101 - a pass always has an account
    ladder = [
        Level(name, Decimal(least), kind, Decimal(value), texts)
        for name, least, kind, value, texts in card.levels or ()
    ]
    following = levels.following(levels=ladder, name=card.current_level, lifetime=card.counted)
    level = levels.current_level(levels=ladder, name=card.current_level)
    return Card(
        design=card.design,
        member=f"{card.first_name} {card.last_name}".strip(),
        number=numbers.number(account),
        barcode=numbers.barcode(account),
        points=card.points,
        pending=card.pending,
        level=level if level and card.current_level in {"", level.name} else deleted_level(card.current_level),
        next_level=following,
        missing=following.threshold - card.counted if following else Decimal(0),
        level_until=card.level_until,
        language=card.language or settings.LANGUAGE_CODE,
        voided=card.status != UserPoints.Status.ACTIVE or not card.is_active,
    )
