"""Action on a member's page: export the member's data in a job. settings.CUSTOMER_DATA_EXPORT names what starts it."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy

from portal.base.tenant_admin import TenantAdmin
from portal.import_export.exportable import within
from portal.unfold import action


class DataExport(TenantAdmin):
    """Data exports, as part of the model admin of members."""

    def has_export_data_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        row = self.addressed_row(request, object_id)
        return row is not None and row.user.is_active and row.brand_id in within(request.user, self.opts.label_lower)

    @action(
        description=gettext_lazy("Export this customer's data"),
        url_path="data-export",
        icon="folder_shared",
        permissions=["export_data"],
    )
    def export_data(self, request: HttpRequest, object_id: str) -> HttpResponse:
        member = self.get_object(request, object_id)
        page: HttpResponse = import_string(settings.CUSTOMER_DATA_EXPORT)(self, request, member)
        return page
