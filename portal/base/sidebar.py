"""The groups of the portal's sidebar. A page declares its own entry: `sidebar = SidebarEntry(MEMBERS, 1, "group")`."""

from typing import Any, NamedTuple

from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

PRODUCTS_AND_CODES = _("Products & codes")
MEMBERS = _("Members")
PROGRAMME = _("Programme")
NOTIFICATIONS = _("Notifications")
INTEGRATIONS = _("Integrations")
REPORTS = _("Reports")
SETTINGS = _("Settings")

GROUPS = (PRODUCTS_AND_CODES, MEMBERS, PROGRAMME, NOTIFICATIONS, INTEGRATIONS, REPORTS, SETTINGS)


def list_name(page: Any) -> str:
    """What a page's list is called: by the page, or the plural of its rows."""
    return str(capfirst(page.list_name or page.opts.verbose_name_plural))


class SidebarEntry(NamedTuple):
    """Where a page stands: its group, its position there from the top, and the name of a Material symbol."""

    group: Any
    position: int
    icon: str
