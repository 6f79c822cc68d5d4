"""The breadcrumbs of a portal page: the sidebar's group, the list, the row, and the page's own title if it has one.

Platform names begin with a capital letter. User data, such as an address, is shown unchanged.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext as _

from portal.shell.navigation import address_of, entries, list_name, may_see


@dataclass(frozen=True, slots=True)
class Crumb:
    title: str
    link: str = ""


def crumbs(request: HttpRequest, page_context: Any) -> list[Crumb]:
    """The breadcrumbs of the page with the template context `page_context`; the last, the current page, has no link."""
    path = list(_crumbs(request, page_context)) or [
        Crumb(str(page_context.get("content_title") or page_context.get("title") or _("Portal")))
    ]
    return [*path[:-1], Crumb(path[-1].title)]


def _crumbs(request: HttpRequest, page_context: Any) -> Iterator[Crumb]:
    row = next(
        (row for row in (page_context.get("original"), page_context.get("object")) if isinstance(row, Model)), None
    )
    opts = page_context.get("opts") or getattr(row, "_meta", None)
    if opts is None:
        return
    label = opts.label_lower
    if entry := next(((group, pages) for group, pages in entries().items() if label in pages), None):
        group, pages = entry
        first = next((address_of(each) for each in pages if may_see(request, each)), "")
        yield Crumb(str(group), first)
    page = f"admin:{opts.app_label}_{opts.model_name}"
    name = list_name(label)
    yield Crumb(name, reverse(f"{page}_changelist") if may_see(request, label) else "")
    if row is not None:
        yield Crumb(row_name(row), reverse(f"{page}_change", args=[row.pk]))
    is_usual = "cl" in page_context or ("adminform" in page_context and row is not None)
    title = str(page_context.get("title") or "")
    if not is_usual and title not in {"", name}:
        yield Crumb(title)


def row_name(row: Model) -> str:
    """The name from the row's model admin (`row_name`), else str(row)."""
    page = admin.site.get_model_admin(type(row)) if admin.site.is_registered(type(row)) else None
    named: Callable[[Model], str] = getattr(page, "row_name", str)
    return named(row)
