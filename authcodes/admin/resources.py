"""Products and printers as import and export files."""

from typing import Any, ClassVar

from django.utils.translation import gettext_lazy as _
from import_export.fields import Field

from authcodes.models.prints import Printer
from authcodes.models.products import Product
from authcodes.printing.labels import design
from core.errors import Invalid
from loyalty.admin.ceiling_resource import CeilingResource
from portal.import_export.cells import Cell, column
from portal.import_export.plans import PlannedRow
from portal.import_export.resource import TenantResource


class ListCell(Cell):
    """Several texts in one cell, separated by commas."""

    def render(self, value: Any, obj: Any = None, **_more: Any) -> str:  # noqa: ARG002 - the library's
        return ", ".join(value or ())


TAGS: Any = Product._meta.get_field("tags")  # noqa: SLF001 - Django's public API of models


class ProductResource(CeilingResource):
    """Products, keyed by SKU. The columns match the list's export; a price list needs only SKUs and prices."""

    sku = column(Product, "sku")
    title = column(Product, "title")
    gtin = column(Product, "gtin")
    retail_price = column(Product, "retail_price")
    points_per_scan = column(Product, "redeem_point_value", "points_per_scan")
    category = column(Product, "category")
    tags = Field(attribute="tags", column_name="tags", widget=ListCell(TAGS.formfield()))
    active = column(Product, "is_active", "active")

    points_field = "redeem_point_value"
    example: ClassVar[dict[str, str]] = {
        "sku": "SKU-1001",
        "title": "Rain jacket",
        "gtin": "4006381333931",
        "retail_price": "89.90",
        "points_per_scan": "10",
        "category": "Jackets",
        "tags": "winter, new",
        "active": "yes",
    }
    notes: ClassVar = {
        "sku": _("Required. Finds the product to change; a SKU that the brand does not have yet creates a new one."),
        "title": _("Required for new products."),
        "gtin": _("8, 12, 13 or 14 digits."),
        "retail_price": _("Such as 89.90."),
        "points_per_scan": _("A whole number. Leave empty to use the level's points."),
        "category": _("The category that earning rules use, such as Jackets."),
        "tags": _("Tags that earning rules check, separated by commas."),
        "active": _("yes or no: whether it is sold."),
    }

    class Meta:
        model = Product
        import_id_fields = ("sku",)


class PrinterResource(TenantResource):
    """Printers, keyed by name."""

    name = column(Printer, "name")
    offset_x = column(Printer, "offset_x")
    offset_y = column(Printer, "offset_y")
    scale = column(Printer, "scale")

    example: ClassVar[dict[str, str]] = {
        "name": "Warehouse, left",
        "offset_x": "0.5",
        "offset_y": "-0.25",
        "scale": "1.005",
    }
    notes: ClassVar = {
        "name": _("Required. Finds the printer to change; a new name creates a new printer."),
        "offset_x": _("Shift to the right, in mm. Negative values shift to the left."),
        "offset_y": _("Shift down, in mm. Negative values shift up."),
        "scale": _("1 means no correction."),
    }

    class Meta:
        model = Printer
        import_id_fields = ("name",)

    def import_more(self, planned: PlannedRow, row: dict[str, str]) -> None:
        super().import_more(planned, row)
        if not planned.errors:
            it = planned.instance
            try:
                design.check_printer(offset_x=it.offset_x, offset_y=it.offset_y, scale=it.scale)
            except Invalid as error:
                planned.add_error(error.details["field"], error.message)
