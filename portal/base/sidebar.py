"""The groups of the portal's sidebar: one for each kind of work.

A page declares its own entry: `sidebar = SidebarEntry(CUSTOMERS, 1, "group")`. The sidebar only shows the groups.
The lists of a group are tabs above its pages; rarely used ones are under "More lists" there.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from brands.models.people import StaffRole


@dataclass(frozen=True, eq=False, slots=True)
class Group:
    """A group, under the name that breadcrumbs and the search use, too. `icon`: the name of a Material symbol."""

    title: Any
    icon: str

    def __str__(self) -> str:
        return str(self.title)


PRODUCTS_AND_CODES = Group(_("Products & codes"), "qr_code_2")
PRINT = Group(_("Print"), "print")
SCANS_AND_SAFETY = Group(_("Scans & safety"), "shield")
PROGRAMME = Group(_("Programme"), "trophy")
CUSTOMERS = Group(_("Customers"), "group")
MESSAGES = Group(_("Messages"), "mail")
SETTINGS = Group(_("Settings"), "settings")

GROUPS = (PRODUCTS_AND_CODES, PRINT, SCANS_AND_SAFETY, PROGRAMME, CUSTOMERS, MESSAGES, SETTINGS)

# Roles for one kind of work only see its groups, in this order; they find other pages through search and links.
MENUS: dict[str, tuple[Group, ...]] = {
    StaffRole.Role.PRINTER: (PRINT, PRODUCTS_AND_CODES),
    StaffRole.Role.SUPPORT: (CUSTOMERS, SCANS_AND_SAFETY, MESSAGES),
}


def list_name(page: Any) -> str:
    """The name of a page's list: the page's own, or the plural of its rows."""
    return str(capfirst(page.list_name or page.opts.verbose_name_plural))


class SidebarEntry(NamedTuple):
    """The place of a page: its group, its position there, and the name of a Material symbol.

    `tab`: whether its list is a tab of the group; the others are under "More lists".
    """

    group: Group
    position: int
    icon: str
    tab: bool = True
