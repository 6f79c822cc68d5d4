"""The till's answer to a redemption code: whether its reward may be handed over, and if not, why."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.http import HttpRequest
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from loyalty.members.masking import displayed_to
from loyalty.models.rewards import Redemption
from loyalty.rewards import codes
from loyalty.rewards import till as redemptions
from portal.base.badges import badge
from portal.lists import local_time
from portal.lists.bidi import display_code
from portal.lists.number_columns import format_points

COLOURS = {"good": "success", "used": "info", "expired": "warning", "cancelled": "", "blocked": "danger"}
LABELS = {
    "good": gettext_lazy("OK"),
    "used": gettext_lazy("Used"),
    "expired": gettext_lazy("Expired"),
    "cancelled": gettext_lazy("Cancelled"),
    "blocked": gettext_lazy("Member blocked"),
}


def state_badge(redemption: Redemption) -> SafeString:
    state = redemptions.state_of(redemption, timezone.now())
    return badge(COLOURS[state], LABELS[state])


def masked_code(redemption: Redemption) -> SafeString:
    """The brand's or the partner's code, masked but recognisable."""
    partner = getattr(redemption, "pool_code", None)
    if partner is None:
        return display_code(codes.masked(redemption.code))
    return format_html(_("partner code %(code)s") % {"code": "{}"}, display_code(partner))


def describe(request: HttpRequest, redemption: Redemption) -> dict[str, Any]:
    """What the page displays for a code."""
    zone = redemption.brand.zone
    state = redemptions.state_of(redemption, timezone.now())
    return {
        "redemption": redemption,
        "paid": format_points(redemption.cost),
        "state": state,
        "state_label": LABELS[state],
        "heading": accept(redemption) if state == "good" else reject(redemption, state),
        "member": displayed_to(request.user, redemption.user_point),
        "code": codes.grouped(redemption.code),
        "taken": local_time.display_moment(redemption.created_at, zone),
        "ends": local_time.display_moment(redemption.expires_at, zone) if redemption.expires_at else _("never"),
    }


def accept(redemption: Redemption) -> str:
    return _("Hand over: %(reward)s") % {"reward": redemption.name}


def reject(redemption: Redemption, state: str) -> str:
    """Why nothing may be handed over for a code."""
    zone = redemption.brand.zone
    if state == "used" and redemption.used_at:
        used_by = redemption.used_by.get_full_name() if redemption.used_by else _("another system")
        return format_html(_("Do not hand over: used {} by {}"), clock(redemption.used_at, zone), used_by)
    if state == "expired" and redemption.expires_at:
        return format_html(_("Do not hand over: expired {}"), clock(redemption.expires_at, zone))
    if state == "blocked":
        return _("Do not hand over: the member is blocked")
    return _("Do not hand over: cancelled")


def clock(moment: datetime, zone: ZoneInfo) -> SafeString:
    """A moment for the till. Today's moments show only the time."""
    local = moment.astimezone(zone)
    if local.date() != timezone.now().astimezone(zone).date():
        return local_time.display_moment(moment, zone)
    return format_html('<time datetime="{}" title="{}">{}</time>', local.isoformat(), zone, date_format(local, "H:i"))
