"""The views of a page, in addition to Django's standard ones."""

from typing import Any

from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import path

from portal.unfold import ModelAdmin


class PageViews(ModelAdmin):
    """A page with views of its own."""

    def own_views(self) -> dict[str, tuple[str, Any]]:
        """By name: the route below the list, and the view function. A subclass adds those of `super()` to its own."""
        return {}

    def get_urls(self) -> list[Any]:
        own = [
            path(route, self.admin_site.admin_view(view), name=self.url_name(name))
            for name, (route, view) in self.own_views().items()
        ]
        return [*own, *super().get_urls()]

    def render_page(
        self, request: HttpRequest, template: str, context: dict[str, Any], *, status: int | None = None
    ) -> TemplateResponse:
        """The template with `context`, and with what every page of the portal shows around it."""
        shared = {**self.admin_site.each_context(request), "opts": self.opts}
        return TemplateResponse(request, template, {**shared, **context}, status=status)

    def url_name(self, name: str) -> str:
        """The name of one of these addresses, formed as Django forms its own."""
        return f"{self.opts.app_label}_{self.opts.model_name}_{name}"
