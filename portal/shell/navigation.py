"""The portal's navigation: a sidebar of groups, and above each page the lists of its group as tabs."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from brands.identity import roles
from brands.identity.roles import USE, VIEW, brand_scope
from brands.models.people import User
from portal.base import sidebar
from portal.base.links import admin_address
from portal.base.sidebar import GROUPS, MENUS, SETTINGS, Group, SidebarEntry

TILL = "loyalty.redemption"


@dataclass(frozen=True, slots=True)
class Place:
    """A list in the tabs. `is_current`: whether the open page belongs to it."""

    title: str
    link: str
    icon: str
    is_current: bool = False


@dataclass(frozen=True, slots=True)
class Tabs:
    """The lists of a group that the user may see: common and rare ones."""

    group: str
    usual: list[Place]
    rare: list[Place]


@cache
def entries() -> dict[Group, dict[str, SidebarEntry]]:
    """Group -> model label -> entry, in order, as the pages declare it. All are registered by the first call."""
    pages = [
        (entry, model._meta.label_lower)
        for model, page in admin.site._registry.items()  # noqa: SLF001 - there is no other list of all pages
        if (entry := getattr(page, "sidebar", None))
    ]
    pages.sort(key=lambda each: each[0].position)
    return {group: {label: entry for entry, label in pages if entry.group is group} for group in GROUPS}


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """Called by settings.UNFOLD["SIDEBAR"]["navigation"]: the user's groups, and the settings below them."""
    open_group, declared = group_of_page(request), entries()
    menu = menu_of(request.user)
    items: dict[Group, dict[str, Any]] = {}
    for group in menu or GROUPS:
        if link := next((address_of(label) for label in declared[group] if may_see(request, label)), ""):
            active = group is open_group
            items[group] = {"title": str(group), "icon": group.icon, "link": link, "active": active}
    home = {"title": _("Home"), "icon": "home", "link": reverse("admin:index"), "active": is_home(request)}
    result = [{"items": [*([] if menu else [home]), *(item for group, item in items.items() if group is not SETTINGS)]}]
    return [*result, {"items": [items[SETTINGS]], "separator": True}] if SETTINGS in items else result


def menu_of(user: Any) -> tuple[Group, ...]:
    """The groups of a user whose roles in the selected brands are all for one kind of work; empty for all groups."""
    if user.is_superuser:
        return ()
    chosen = getattr(user, "chosen_brand_id", None)
    names = {it.role for it in roles.staff_roles(user) if chosen in {None, it.brand_id}}
    if not names or not names <= set(MENUS):
        return ()
    return tuple(dict.fromkeys(group for role in MENUS if role in names for group in MENUS[role]))


def first_page(user: User) -> str:
    """The first page after the login. Users who only hand rewards over or print start there."""
    menu = menu_of(user)
    if menu and roles.full_scope(user, USE, TILL):
        return reverse("admin:loyalty_redemption_till")
    return reverse("admin:index")


def tabs(request: HttpRequest, label: str) -> Tabs | None:
    """For the pages of the model `label`: the other lists of its group. None if there is no other."""
    declared = entries()
    group = next((group for group in GROUPS if label in declared[group]), None)
    if group is None:
        return None
    places = [
        (entry, Place(list_name(each), address_of(each), entry.icon, each == label))
        for each, entry in declared[group].items()
        if may_see(request, each)
    ]
    menu = menu_of(request.user)
    elsewhere = [
        Place(list_name(each), address_of(each), entry.icon)
        for other in GROUPS
        if menu and other not in menu and other is not group
        for each, entry in declared[other].items()
        if may_see(request, each)
    ]
    usual = [place for entry, place in places if entry.tab]
    rare = [*(place for entry, place in places if not entry.tab), *elsewhere]
    return Tabs(str(group), usual, rare) if len(usual) + len(rare) > 1 else None


def group_of_page(request: HttpRequest) -> Group | None:
    """The group of the open page."""
    name = page_name(request)
    for group, pages in entries().items():
        if any(name.startswith(f"{label.replace('.', '_')}_") for label in pages):
            return group
    return None


def is_home(request: HttpRequest) -> bool:
    return page_name(request) == "index"


def page_name(request: HttpRequest) -> str:
    match = request.resolver_match
    return (match.url_name or "") if match else ""


def lists(request: HttpRequest) -> Iterator[tuple[Group, SidebarEntry, str]]:
    """Every list that the user may see, with its group and its model's label."""
    for group, pages in entries().items():
        for label, entry in pages.items():
            if may_see(request, label):
                yield group, entry, label


def may_see(request: HttpRequest, label: str) -> bool:
    return bool(brand_scope(request.user, VIEW, label))


def may_use_till(request: HttpRequest) -> bool:
    return bool(brand_scope(request.user, USE, TILL))


def address_of(label: str) -> str:
    return admin_address(label, page_of(label).sidebar_view)


def list_name(label: str) -> str:
    return sidebar.list_name(page_of(label))


def page_of(label: str) -> Any:
    return admin.site.get_model_admin(apps.get_model(label))
