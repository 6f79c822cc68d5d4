"""The addresses of a page's own views, in addition to the standard ones."""

from collections.abc import Mapping
from typing import Any

from django.urls import URLPattern, path


def page_urls(page: Any, views: Mapping[str, tuple[str, Any]]) -> list[URLPattern]:
    """`views`: by name, the route below the list, and the view function. They are named as Django names its own."""
    return [
        path(route, page.admin_site.admin_view(view), name=url_name(page, name))
        for name, (route, view) in views.items()
    ]


def url_name(page: Any, name: str) -> str:
    return f"{page.opts.app_label}_{page.opts.model_name}_{name}"
