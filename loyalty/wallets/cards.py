"""Cards: what stands on a member's pass, whichever wallet it is in."""

from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from brands.models.tenants import Brand
from brands.tenants.hostnames import hostname_of, site_at
from core.db import sql
from core.json_values import plain
from loyalty.members import numbers
from loyalty.models.accounts import UserPoints
from loyalty.models.wallets import WalletPass
from loyalty.points import levels
from loyalty.points.levels import Level


@dataclass(frozen=True, slots=True)
class Look:
    """What all passes of a brand share. Colours are `#rrggbb`."""

    brand_id: int
    name: str
    background: str
    text: str
    accent: str
    logo_id: UUID | None
    support_email: str
    address: str  # of the brand's host, without a slash at the end; empty where it has none


@dataclass(frozen=True, slots=True)
class Card:
    """What one member's pass says."""

    look: Look
    member: str
    number: str
    barcode: str
    points: Decimal
    level: str
    next_level: str
    missing: Decimal  # points to the next level
    voided: bool

    @property
    def balance(self) -> int | float:
        return plain(self.points) or 0

    @property
    def progress(self) -> str:
        """The way to the next level, in words."""
        if not self.next_level:
            return _("The highest level")
        words = ngettext("%(points)s point to %(level)s", "%(points)s points to %(level)s", plural(self.missing))
        return words % {"points": plain(self.missing), "level": self.next_level}


def plural(points: Decimal) -> int:
    """The number by which ngettext picks the singular or the plural; 1.50 takes the plural."""
    return 1 if points == 1 else 2


# Everything a card says, in one prepared statement: a change of a brand makes every phone ask within minutes.
SAID = """
    SELECT m.points, m.points_earned - m.points_returned, m.current_level, m.status,
           COALESCE(m.first_name, u.first_name), COALESCE(m.last_name, u.last_name), u.is_active, b.id, b.name,
           b.colour_background, b.colour_text, b.colour_accent, b.logo_id, b.support_email,
           (SELECT h.hostname FROM brands_brandhostname h WHERE h.brand_id = b.id
             ORDER BY h.is_primary DESC, h.hostname LIMIT 1),
           (SELECT json_agg(json_build_array(l.name, l.threshold::text, l.scan_reward_type, l.scan_reward_value::text)
                            ORDER BY l.threshold)
              FROM loyalty_brandlevel l WHERE l.brand_id = b.id)
      FROM user_points m
      JOIN brands_user u ON u.id = m.user_id
      JOIN brands_brand b ON b.id = m.brand_id
     WHERE m.user_point_id = %(account)s::bigint
"""


def look_of(brand: Brand) -> Look:
    colours = (brand.colour_background, brand.colour_text, brand.colour_accent)
    address = address_of(hostname_of(brand.pk))
    return Look(brand.pk, brand.name, *colours, brand.logo_id, brand.support_email, address=address)


def address_of(host: str | None) -> str:
    return site_at(host) if host else ""


def card_of(wallet_pass: WalletPass) -> Card:
    """As the account is now."""
    account = wallet_pass.account_id
    found = sql.row(SAID, {"account": account})
    assert found  # noqa: S101 - a pass goes with its account
    points, lifetime, level, status, first, last, active = found[:7]
    host, levels_found = found[14:]
    ladder = [Level(name, Decimal(least), kind, Decimal(value)) for name, least, kind, value in levels_found or ()]
    following = levels.following(levels=ladder, lifetime=lifetime)
    held = levels.held(levels=ladder, name=level)
    return Card(
        look=Look(*(*found[7:14], address_of(host))),
        member=f"{first} {last}".strip(),
        number=numbers.number(account),
        barcode=numbers.barcode(account),
        points=points,
        level=level or (held.name if held else ""),
        next_level=following.name if following else "",
        missing=following.threshold - lifetime if following else Decimal(0),
        voided=status == UserPoints.Status.BLOCKED or not active,
    )
