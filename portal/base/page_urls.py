"""The addresses of a page's own views, next to those that every page has."""

from collections.abc import Mapping
from typing import Any

from django.urls import URLPattern, path


def page_urls(page: Any, views: Mapping[str, tuple[str, Any]]) -> list[URLPattern]:
    """`views`: by name, where below the list, and the function that answers there. They are named as Django's own."""
    return [
        path(route, page.admin_site.admin_view(view), name=url_name(page, name))
        for name, (route, view) in views.items()
    ]


def url_name(page: Any, name: str) -> str:
    return f"{page.opts.app_label}_{page.opts.model_name}_{name}"
