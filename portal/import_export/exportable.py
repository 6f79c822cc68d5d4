"""Lists whose rows can be exported as a file, and who may do that.

A list does not know the content of a file and the job that writes it: settings.LIST_EXPORT names the page that asks
for the brand and the file format, and starts the job.
"""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse, QueryDict
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from brands.identity import roles
from brands.identity.roles import ACT, VIEW, BrandScope
from brands.models.people import User
from brands.models.tenants import Brand
from core import languages
from jobs import queue
from jobs.models import Job
from portal.base.links import admin_address
from portal.base.tenant_admin import TenantAdmin

JOB = "jobs.job"


def within(user: Any, label: str) -> BrandScope:
    """Where a user may export rows of the model `label`: they see them there, and may run jobs."""
    seen, acts = roles.brand_scope(user, VIEW, label), roles.brand_scope(user, ACT, JOB)
    if acts.everywhere:
        return seen
    return acts if seen.everywhere else BrandScope(seen.brand_ids & acts.brand_ids)


class ExportingAdmin(TenantAdmin):
    """A list whose rows can be exported as a file: those that match its filters and search, of one brand."""

    list_before_template = "admin/portal/export_link.html"
    export_kind: str  # of the job

    def own_views(self) -> dict[str, Any]:
        return {"export": ("export/", self.export_list), **super().own_views()}

    def export_list(self, request: HttpRequest) -> HttpResponse:
        page: HttpResponse = import_string(settings.LIST_EXPORT)(self, request)
        return page

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        links = self.export_links(request) if within(request.user, self.opts.label_lower) else []
        return super().changelist_view(request, {"export_links": links, **(extra_context or {})})

    def export_links(self, request: HttpRequest) -> list[tuple[str, str]]:
        """Addresses and names of the list's export links."""
        return [(self.export_address(request.GET), self.export_name(request.GET))]

    def export_address(self, query: QueryDict) -> str:
        requested = f"?{query.urlencode()}" if query else ""
        return admin_address(self.opts.label_lower, "export") + requested

    def export_name(self, query: QueryDict) -> str:
        return _("Export %(rows)s") % {"rows": self.opts.verbose_name_plural}

    def export_kind_of(self, query: QueryDict) -> str:
        """The kind of job that exports the list with these parameters."""
        return self.export_kind


def start_export(
    page: ExportingAdmin, *, query: QueryDict, brand: Brand, file_format: str, time_zone: str, by: User, title: str = ""
) -> Job:
    """Start the job that exports the list with these parameters. Call in a transaction."""
    with languages.in_english():
        title = title or page.export_name(query)
    return queue.start(
        brand=brand,
        kind=page.export_kind_of(query),
        title=title,
        parameters={"query": query.urlencode(), "format": file_format, "time_zone": time_zone},
        by=by,
    )
