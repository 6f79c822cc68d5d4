"""The portal's site: django-unfold's, whose look-up answers a mistyped page number like any other missing page."""

from typing import Any

from django.contrib.admin.apps import AdminConfig
from django.core.paginator import InvalidPage
from django.http import Http404, HttpRequest, HttpResponse
from unfold.sites import UnfoldAdminSite


class PortalConfig(AdminConfig):
    """Stands in INSTALLED_APPS for django.contrib.admin, beside unfold.apps.BasicAppConfig."""

    default_site = "brands.portal_site.PortalSite"


class PortalSite(UnfoldAdminSite):  # type: ignore[misc] # unfold has no types
    def search(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        page = request.GET.get("page", "1")
        if not (page.isascii() and page.isdigit() and len(page) < 7):
            raise Http404
        try:
            found: HttpResponse = super().search(request, extra_context)
        except InvalidPage as error:
            raise Http404 from error
        return found
