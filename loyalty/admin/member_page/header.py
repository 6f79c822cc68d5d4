"""The header of a member's page: identity, level, points missing to the next level, and balance."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from core.numbers import format_number
from loyalty.models.accounts import UserPoints
from loyalty.models.members.listed_members import ListedMember
from loyalty.points import birthdays, levels
from loyalty.points.level_periods.level_end import counted_points, level_end
from loyalty.points.levels import Level
from portal.base.badges import badge
from portal.lists import local_time
from portal.lists.number_columns import format_points

COLOURS = {"active": "success", "blocked": "danger", "merged": ""}
LISTING = "listing"  # the account's sort keys
AROUND = 100  # length of the ring's stroke; the template sets the same pathLength


@dataclass(frozen=True, slots=True)
class Ring:
    """The level as a ring: `filled` out of AROUND. `missing` is the text about the points missing to the next level."""

    level: str
    filled: int
    missing: str


@dataclass(frozen=True, slots=True)
class Header:
    name: str
    email: str
    status: SafeString
    ring: Ring | None
    balance: str
    figures: list[tuple[str, Any]]
    details: list[tuple[str, Any]]


def listing_of(member: UserPoints) -> ListedMember | None:
    """The sort keys, or None for a member who joined within the last minute."""
    return getattr(member, LISTING, None)


def last_seen(member: UserPoints) -> SafeString | str:
    """Uses the sort key of the list of members. refresh_listed_members.sql defines what counts as activity."""
    listing = listing_of(member)
    if listing is None or listing.last_seen_at <= member.enrolled_at:
        return _("not yet")
    return local_time.display_moment(listing.last_seen_at, member.brand.zone)


def header_of(member: UserPoints, *, name: str) -> Header:
    zone = member.brand.zone
    optional = ((_("Pending"), member.points_pending), (_("Owed"), member.points_owed))
    return Header(
        name=name,
        email=member.user.email,
        status=badge(COLOURS[member.status], member.get_status_display()),
        ring=ring_of(member),
        balance=format_points(member.points),
        figures=[
            *((label, format_number(points)) for label, points in optional if points),
            (_("Spent"), format_number(member.redeemed)),
            (_("Joined"), local_time.display_moment(member.enrolled_at, zone)),
            (_("Last seen"), last_seen(member)),
        ],
        details=list(details_of(member)),
    )


def ring_of(member: UserPoints) -> Ring | None:
    """The ring, or None if the brand has no levels."""
    ladder = levels.levels_of(member.brand)
    if not ladder:
        return None
    own = levels.level_named(levels=ladder, name=member.current_level)
    counted = counted_points(brand=member.brand, account=member)
    following = levels.following(levels=ladder, name=member.current_level, lifetime=counted)
    level = member.current_level or _("No level")
    if following is None:
        return Ring(level, AROUND, _("the highest level"))
    missing = _("%(points)s to %(level)s") % {
        "points": format_points(following.threshold - counted),
        "level": following.name,
    }
    return Ring(level, filled_of(counted, own, following), missing)


def filled_of(counted: Decimal, own: Level | None, following: Level) -> int:
    begins = own.threshold if own else Decimal(0)
    way = following.threshold - begins
    return int(max(Decimal(0), min(Decimal(AROUND), AROUND * (counted - begins) / way))) if way else 0


def details_of(member: UserPoints) -> list[tuple[str, Any]]:
    """Details that staff rarely need. Empty values are left out."""
    rows: list[tuple[str, Any]] = [
        (_("Level kept until"), level_end_text(member)),
        (_("Birthday"), birthdays.read(member.user_id, member.brand_id)),
        (_("Number in your systems"), member.external_id),
        (_("Earned in all"), format_number(member.points_earned)),
        (pgettext("points", "Expired"), format_number(member.points_expired) if member.points_expired else ""),
        (_("Returned orders"), format_number(member.points_reversed) if member.points_reversed else ""),
        (_("Brand"), member.brand),
        (_("Changed"), local_time.display_moment(member.updated_at, member.brand.zone)),
        (_("Time zone"), timezone.get_current_timezone_name()),
    ]
    return [(label, value) for label, value in rows if value]


def level_end_text(member: UserPoints) -> str:
    """When the level ends, and what renewing it takes."""
    brand = member.brand
    end = level_end(brand=brand, account=member, ladder=levels.levels_of(brand), at=timezone.now())
    if end is None:
        return _("Permanently")
    counted = _("%(points)s since %(day)s") % {
        "points": format_points(end.points),
        "day": local_time.day_text(end.first),
    }
    if end.level_until is None:
        return _("Permanently, as the lowest level; %(counted)s") % {"counted": counted}
    until = local_time.day_text(end.level_until)
    if not end.missing:
        return _("%(until)s; %(counted)s") % {"until": until, "counted": counted}
    missing = format_points(end.missing)
    return _("%(until)s; to keep it longer: %(missing)s more; %(counted)s") % {
        "until": until,
        "missing": missing,
        "counted": counted,
    }
