"""Pages with a form that shows more than its fields, and whose script asks about what is not saved yet."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse

from brands.identity.roles import ADD, CHANGE
from brands.models.tenants import Brand
from portal.base.tenant_admin import TenantAdmin


class FormPages(TenantAdmin):
    """Part of the model admins of segments, earning rules and broadcasts."""

    def form_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """What the page's template needs besides the form. `row` is None for a new one."""
        raise NotImplementedError

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        row = self.get_object(request, object_id) if object_id else None
        context = {**(extra_context or {}), **self.form_context(request, row)}
        return super().changeform_view(request, object_id, form_url, context)

    def may_save(self, request: HttpRequest, row: Any) -> bool:
        return self.has_change_permission(request, row) if row else self.has_add_permission(request)

    def brand_of_form(self, request: HttpRequest, row: Any) -> Any:
        """The ID of the row's brand, or of the one that is preset for a new row."""
        return row.brand_id if row else self.get_changeform_initial_data(request).get("brand")

    def brand_edited(self, request: HttpRequest, brand_id: str) -> Brand:
        """A brand whose rows the user may add or change. Raises Http404."""
        brand = next((brand for brand in self.brands_seen(request) if str(brand.pk) == brand_id), None)
        if brand is None or brand.pk not in self.brand_scope(request, ADD + CHANGE):
            raise Http404
        return brand
