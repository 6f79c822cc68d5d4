"""The views of a page, in addition to Django's standard ones."""

from typing import Any

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

    def url_name(self, name: str) -> str:
        """The name of one of these addresses, formed as Django forms its own."""
        return f"{self.opts.app_label}_{self.opts.model_name}_{name}"
