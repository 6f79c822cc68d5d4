"""Part of a member's page: when the level ends, and what renewing it takes."""

from django.utils import timezone
from django.utils.translation import gettext as _

from loyalty.models.accounts import UserPoints
from loyalty.points.level_periods.ends import level_end
from loyalty.points.levels import levels_of
from portal.lists.local_time import day_text
from portal.lists.number_columns import format_points


def level_end_text(member: UserPoints) -> str:
    brand = member.brand
    end = level_end(brand=brand, account=member, ladder=levels_of(brand), at=timezone.now())
    if end is None:
        return _("Permanently")
    counted = _("%(points)s since %(day)s") % {
        "points": format_points(end.points),
        "day": day_text(end.first),
    }
    if end.level_until is None:
        return _("Permanently, as the lowest level; %(counted)s") % {"counted": counted}
    until = day_text(end.level_until)
    if not end.missing:
        return _("%(until)s; %(counted)s") % {"until": until, "counted": counted}
    missing = format_points(end.missing)
    return _("%(until)s; to keep it longer: %(missing)s more; %(counted)s") % {
        "until": until,
        "missing": missing,
        "counted": counted,
    }
