"""Products and printers as import and export files."""

from typing import Any

from django.utils.translation import gettext_lazy as _

from authcodes.models.prints import Printer
from authcodes.models.products import Product
from authcodes.printing.labels import design
from core.errors import Invalid
from loyalty.admin.ceiling_resource import CeilingResource
from portal.import_export.cells import Cell, Column, column
from portal.import_export.plans import PlannedRow
from portal.import_export.resource import TenantResource


class ListCell(Cell):
    """Several texts in one cell, separated by commas."""

    def render(self, value: Any, obj: Any = None, **_more: Any) -> str:
        return ", ".join(value or ())


TAGS: Any = Product._meta.get_field("tags")


class ProductResource(CeilingResource):
    """Products, keyed by SKU. The columns match the list's export; a price list needs only SKUs and prices."""

    sku = column(
        Product,
        "sku",
        "SKU-1001",
        _("Required. Finds the product to change; a SKU that the brand does not have yet creates a new one."),
    )
    title = column(Product, "title", "Rain jacket", _("Required for new products."))
    gtin = column(Product, "gtin", "4006381333931", _("8, 12, 13 or 14 digits."))
    retail_price = column(Product, "retail_price", "89.90", _("Such as 89.90."))
    points_per_scan = column(
        Product,
        "redeem_point_value",
        "10",
        _("A whole number. Leave empty to use the level's points."),
        column_name="points_per_scan",
    )
    category = column(Product, "category", "Jackets", _("The category that earning rules use, such as Jackets."))
    tags = Column(
        "winter, new",
        _("Tags that earning rules check, separated by commas."),
        attribute="tags",
        widget=ListCell(TAGS.formfield()),
    )
    active = column(Product, "is_active", "yes", _("yes or no: whether it is sold."), column_name="active")

    points_field = "redeem_point_value"

    class Meta:
        model = Product
        import_id_fields = ("sku",)


class PrinterResource(TenantResource):
    """Printers, keyed by name."""

    name = column(
        Printer,
        "name",
        "Warehouse, left",
        _("Required. Finds the printer to change; a new name creates a new printer."),
    )
    offset_x = column(Printer, "offset_x", "0.5", _("Shift to the right, in mm. Negative values shift to the left."))
    offset_y = column(Printer, "offset_y", "-0.25", _("Shift down, in mm. Negative values shift up."))
    scale = column(Printer, "scale", "1.005", _("1 means no correction."))

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
