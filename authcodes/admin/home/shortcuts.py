"""Shortcuts on Home: the till for staff who hand over rewards, printing for staff who print."""

from dataclasses import dataclass

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from authcodes.admin.home.list_links import PRINTS, REDEMPTIONS, SCANS
from brands.identity import roles
from brands.identity.roles import ACT, USE, VIEW


@dataclass(frozen=True, slots=True)
class Shortcut:
    title: str
    icon: str
    link: str


def shortcuts(request: HttpRequest) -> list[Shortcut]:
    """Links to the pages that staff use all day."""
    result = []
    if roles.brand_scope(request.user, USE, REDEMPTIONS):
        result.append(Shortcut(_("Redeem a code"), "point_of_sale", reverse("admin:loyalty_redemption_till")))
    if roles.brand_scope(request.user, ACT, PRINTS):
        result.append(Shortcut(_("Print codes"), "print", reverse("admin:authcodes_printrun_choose")))
    return result


def mainly_prints(request: HttpRequest) -> bool:
    """Whether Home has little else to show: the user prints and may not see scans."""
    return bool(roles.brand_scope(request.user, ACT, PRINTS)) and not roles.brand_scope(request.user, VIEW, SCANS)
