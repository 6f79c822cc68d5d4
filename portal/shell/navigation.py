"""The portal's sidebar: which pages there are, grouped by what people come to do."""

from typing import Any

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from brands.identity.roles import VIEW, brand_scope
from portal.base import sidebar


def entries() -> dict[Any, dict[str, str]]:
    """Group -> label of a model -> icon, in the order of the sidebar, as the pages declare it."""
    pages = [
        (entry, model._meta.label_lower)  # noqa: SLF001 - Django's public API of models
        for model, page in admin.site._registry.items()  # noqa: SLF001 - there is no other list of all pages
        if (entry := getattr(page, "sidebar", None))
    ]
    pages.sort(key=lambda each: each[0].position)
    return {group: {label: entry.icon for entry, label in pages if entry.group is group} for group in sidebar.GROUPS}


def navigation(request: HttpRequest) -> list[dict[str, Any]]:
    """What settings.UNFOLD["SIDEBAR"]["navigation"] calls: the groups with the pages that this person may see."""
    overview = {"title": _("Overview"), "icon": "dashboard", "link": reverse("admin:index")}
    groups = [
        {
            "title": title,
            "separator": True,
            "items": [item(label, icon) for label, icon in pages.items() if may_see(request, label)],
        }
        for title, pages in entries().items()
    ]
    return [{"items": [overview]}, *(group for group in groups if group["items"])]


def may_see(request: HttpRequest, label: str) -> bool:
    return bool(brand_scope(request.user, VIEW, label))


def item(label: str, icon: str) -> dict[str, Any]:
    address = reverse(f"admin:{label.replace('.', '_')}_{page_of(label).sidebar_view}")
    return {"title": list_name(label), "icon": icon, "link": address}


def list_name(label: str) -> str:
    return sidebar.list_name(page_of(label))


def page_of(label: str) -> Any:
    return admin.site.get_model_admin(apps.get_model(label))
