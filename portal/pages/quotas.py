"""Page: each brand's quotas and its usage. Operators set the limits."""

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands.identity.roles import VIEW
from brands.models.quotas import BrandQuota
from brands.models.tenants import Brand
from brands.tenants import quotas
from core.numbers import grouped
from portal.base.sidebar import SETTINGS, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.unfold import ChoicesFilter, display

MAX_LISTED = 20  # brands whose usage one page counts


@admin.register(BrandQuota)
class BrandQuotaAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view", "manager": "view", "superuser": "view add change delete"}
    sidebar = SidebarEntry(SETTINGS, 16, "data_usage", tab=False)
    list_display = ("resource", "limit_text")
    list_filter = (("resource", ChoicesFilter),)
    list_before_template = "admin/portal/quotas.html"
    fields = ("brand", "resource", "limit")

    @display(description=gettext_lazy("limit"), ordering="limit")
    def limit_text(self, quota: BrandQuota) -> str:
        if quota.limit is None:
            return _("The installation's default")
        return grouped(quota.limit) if quota.limit else _("unlimited")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        fields = super().get_readonly_fields(request, obj)
        return [*fields, "resource"] if obj else [*fields]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        scope = self.brand_scope(request, VIEW)
        brands = list(scope.of(Brand.objects.order_by("name", "pk"), "pk")[: MAX_LISTED + 1]) if scope else []
        page_context = {"used": quotas.usage_of(brands[:MAX_LISTED]), "there_are_more": len(brands) > MAX_LISTED}
        return super().changelist_view(request, {"quotas": page_context, **(extra_context or {})})

    def store(self, obj: BrandQuota, fields: set[str]) -> None:
        super().store(obj, fields)
        quotas.reset_limits()

    def create(self, request: HttpRequest, obj: BrandQuota, form: Any) -> Any:
        made = super().create(request, obj, form)
        quotas.reset_limits()
        return made

    def delete_row(self, obj: BrandQuota) -> None:
        super().delete_row(obj)
        quotas.reset_limits()
