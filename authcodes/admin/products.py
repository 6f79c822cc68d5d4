"""Page: a brand's products."""

from decimal import Decimal
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authcodes.admin.printing.access import LABEL
from authcodes.admin.product_lookup import ACTIVE_ONLY
from authcodes.admin.resources import ProductResource
from authcodes.models.products import Product
from brands.identity import roles
from brands.identity.roles import ACT, ADD, BrandScope
from brands.tenants import pictures
from brands.tenants.pictures import EncodedPicture
from campaigns.earning.points import BY_DEFAULT
from core.numbers import format_number, is_id
from loyalty.admin.ceiling import CeilingAdmin
from loyalty.models.levels import BrandLevel
from portal.base.brand_choice import only_brand
from portal.base.sidebar import PRODUCTS_AND_CODES, SidebarEntry
from portal.import_export.exportable import ExportingAdmin
from portal.import_export.importable import ImportingAdmin
from portal.mixins.images import PictureAdminMixin, PictureForm
from portal.mixins.translations import TranslationsAdmin, translated_form
from portal.undo import switches
from portal.undo.switches import SwitchUndoMixin
from portal.unfold import TextWidget, action, display

BATCHES = "authcodes.batchrange"
MAKE_CODES = "authcodes_product_make_codes"  # the button's name


class ProductForm(PictureForm):
    class Meta:
        help_texts: ClassVar = {
            "gtin": gettext_lazy("The number under the product's barcode, also called EAN or UPC. Leave empty if none.")
        }

    def encode(self, upload: bytes) -> EncodedPicture:
        return pictures.photograph(upload)


SWITCH = switches.kind("authcodes.product")


@admin.register(Product)
class ProductAdmin(SwitchUndoMixin, ExportingAdmin, ImportingAdmin, TranslationsAdmin, CeilingAdmin, PictureAdminMixin):
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
    list_display = ("title", "sku", "price", "points", "is_active")
    list_select_related = ("brand",)
    list_filter = ("is_active",)
    search_fields = ("sku", "title")
    actions_detail = ("print_codes", "recall")
    actions_submit_line = ("make_codes",)
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
        (gettext_lazy("What customers see"), {"fields": ("current_picture", ("picture_file", "remove_picture"))}),
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        levels = BrandLevel.objects.filter(brand=OuterRef("brand"))
        rows: QuerySet[Any] = super().get_queryset(request).annotate(has_levels=Exists(levels))
        return rows

    @display(description=gettext_lazy("retail price"), ordering="retail_price")
    def price(self, product: Any) -> str:
        amount = product.retail_price
        return "-" if amount is None else f"{number_format(amount, 2, force_grouping=True)} {product.brand.currency}"

    @display(description=gettext_lazy("points per scan"), ordering="redeem_point_value")
    def points(self, product: Any) -> str:
        """The points of codes whose batch sets none."""
        if product.redeem_point_value:
            return format_number(product.redeem_point_value)
        return _("Level's points") if product.has_levels else format_number(BY_DEFAULT)

    def formfield_for_dbfield(self, db_field: Any, request: Any, **options: Any) -> Any:
        """Show prices in the portal language's format, whatever the browser's; a decimal point is always accepted."""
        if db_field.name == "retail_price":
            example = _("Enter a price such as %(price)s.") % {"price": number_format(Decimal("4.5"), 2)}
            options |= {"localize": True, "widget": TextWidget(attrs={"inputmode": "decimal"})}
            options["error_messages"] = {"invalid": example}
        return super().formfield_for_dbfield(db_field, request, **options)

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **options: Any
    ) -> HttpResponse:
        """Show the brand's currency after the price, if the brand is known."""
        price = context["adminform"].form.fields.get("retail_price")
        if price:
            brand_id = options["obj"].brand_id if options.get("obj") else only_brand(self, request)
            brand = next((each for each in self.brands_seen(request) if each.pk == brand_id), None)
            if brand:
                price.widget.attrs["suffix"] = brand.currency
            else:
                price.help_text = _("In the brand's currency.")
        return super().render_change_form(request, context, *args, **options)

    @action(
        description=gettext_lazy("Save and generate codes"),
        url_path="codes",
        icon="qr_code_2",
        permissions=["make_codes"],
    )
    def make_codes(self, _request: HttpRequest, _obj: Product) -> None:
        """The product is already saved; the response leads to the batch wizard."""

    def has_make_codes_permission(self, request: HttpRequest, _object_id: Any = None) -> bool:
        return bool(roles.brand_scope(request.user, ADD, BATCHES))

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Add the button that django-unfold shows only for existing rows."""
        page: Any = self  # its types omit what django-unfold adds
        page_context = {"actions_submit_line": page.get_actions_submit_line(request, None)}
        return super().add_view(request, form_url, {**page_context, **(extra_context or {})})

    def response_add(self, request: HttpRequest, obj: Product, post_url_continue: str | None = None) -> HttpResponse:
        return self.on_to_codes(request, obj) or super().response_add(request, obj, post_url_continue)

    def response_change(self, request: HttpRequest, obj: Product) -> HttpResponse:
        return self.on_to_codes(request, obj) or super().response_change(request, obj)

    def on_to_codes(self, request: HttpRequest, product: Product) -> HttpResponse | None:
        """Redirect to the batch wizard if the user pressed that button."""
        if MAKE_CODES not in request.POST or not self.has_make_codes_permission(request):
            return None
        self.message_user(request, _("%(product)s is saved. Now generate its codes.") % {"product": product})
        return redirect(f"{reverse('admin:authcodes_batchrange_add')}?product={product.pk}")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Forms that assign a product look up only products that are sold; list filters find any."""
        result, many = super().get_search_results(request, queryset, search_term)
        return (result.filter(is_active=True) if request.GET.get(ACTIVE_ONLY) else result), many

    @action(description=gettext_lazy("Print its codes"), url_path="print", icon="print", permissions=["print_codes"])
    def print_codes(self, _request: HttpRequest, object_id: str) -> HttpResponse:
        """Redirect to printing the codes of this product."""
        return redirect(f"{reverse('admin:authcodes_printrun_codes')}?product__id__exact={object_id}")

    @action(description=gettext_lazy("Recall"), url_path="recall", icon="report", permissions=["recall"])
    def recall(self, _request: HttpRequest, object_id: str) -> HttpResponse:
        """Redirect to the preview of a recall of all batches of this product."""
        return redirect(f"{reverse('admin:authcodes_recall_add')}?kind=product&product={object_id}")

    def has_recall_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.is_within(roles.brand_scope(request.user, ADD, "authcodes.recall"), request, object_id)

    def has_print_codes_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.is_within(roles.brand_scope(request.user, ACT, LABEL), request, object_id)

    def is_within(self, scope: BrandScope, request: HttpRequest, product_id: Any) -> bool:
        """Whether it is a visible product of a brand in the scope."""
        if not is_id(str(product_id)):
            return False
        return scope.of(self.get_queryset(request).filter(pk=product_id), "brand").exists()
