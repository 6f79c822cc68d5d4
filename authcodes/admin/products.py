"""Page: what a brand sells."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy

from authcodes.admin.printing.access import LABEL
from authcodes.admin.product_lookup import SOLD_ONLY
from authcodes.admin.resources import ProductResource
from authcodes.models.products import Product
from brands.identity import roles
from brands.identity.roles import ACT, ADD
from brands.tenants import pictures
from brands.tenants.pictures import Drawn
from loyalty.admin.ceiling import CeilingAdmin
from portal.base.image_mixin import ImageAdminMixin, PictureForm
from portal.base.sidebar import PRODUCTS_AND_CODES, SidebarEntry
from portal.base.translations import TranslationsAdmin, translated_form
from portal.import_export.exportable import ExportingAdmin
from portal.import_export.importable import ImportingAdmin
from portal.lists.live import is_id
from portal.unfold import action


class ProductForm(PictureForm):
    def draw(self, upload: bytes) -> Drawn:
        return pictures.photograph(upload)


@admin.register(Product)
class ProductAdmin(ExportingAdmin, ImportingAdmin, TranslationsAdmin, CeilingAdmin, ImageAdminMixin):
    role_permissions: ClassVar = {
        "owner": "view add change",
        "manager": "view add change",
        "printer": "view",
        "support": "view",
    }
    sidebar = SidebarEntry(PRODUCTS_AND_CODES, 1, "category")
    export_kind = "export-products"
    resource = ProductResource
    points_fields = ("redeem_point_value",)
    form = translated_form(ProductForm, Product)
    picture = "picture"
    list_display = ("title", "sku", "retail_price", "redeem_point_value", "is_active")
    list_filter = ("is_active",)
    search_fields = ("sku", "title")
    actions_detail = ("print_codes", "recall")
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "brand",
                    ("title", "sku"),
                    ("retail_price", "redeem_point_value"),
                    ("gtin", "is_active"),
                    ("category", "tags"),
                )
            },
        ),
        (gettext_lazy("What customers see"), {"fields": ("picture_now", ("picture_file", "picture_off"))}),
    )

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Forms that give codes a product look up those that are sold; lists filter by any."""
        result, many = super().get_search_results(request, queryset, search_term)
        return (result.filter(is_active=True) if request.GET.get(SOLD_ONLY) else result), many

    @action(description=gettext_lazy("Print its codes"), url_path="print", icon="print", permissions=["print_codes"])
    def print_codes(self, _request: HttpRequest, object_id: str) -> HttpResponse:
        """To the page that prints what the list of codes shows."""
        return redirect(f"{reverse('admin:authcodes_printrun_codes')}?product__id__exact={object_id}")

    @action(description=gettext_lazy("Recall"), url_path="recall", icon="report", permissions=["recall"])
    def recall(self, _request: HttpRequest, object_id: str) -> HttpResponse:
        """To the page that says what a recall of all its batches changes."""
        return redirect(f"{reverse('admin:authcodes_recall_add')}?what=product&product={object_id}")

    def has_recall_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        if not is_id(str(object_id)):
            return False
        rows = self.get_queryset(request).filter(pk=object_id)
        return roles.brand_scope(request.user, ADD, "authcodes.recall").of(rows, "brand").exists()

    def has_print_codes_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        if not is_id(str(object_id)):
            return False
        rows = self.get_queryset(request).filter(pk=object_id)
        return roles.brand_scope(request.user, ACT, LABEL).of(rows, "brand").exists()
