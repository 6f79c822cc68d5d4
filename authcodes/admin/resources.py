"""What a brand sells, as a file. Its columns are those of the list's export."""

from typing import ClassVar

from django.utils.translation import gettext_lazy as _

from authcodes.models.products import Product
from loyalty.admin.ceiling_resource import CeilingResource
from portal.import_export.cells import column


class ProductResource(CeilingResource):
    """Products by their SKU."""

    sku = column(Product, "sku")
    title = column(Product, "title")
    gtin = column(Product, "gtin")
    retail_price = column(Product, "retail_price")
    points_per_scan = column(Product, "redeem_point_value", "points_per_scan")
    active = column(Product, "is_active", "active")

    required = ("title",)
    points_field = "redeem_point_value"
    example: ClassVar[dict[str, str]] = {
        "sku": "SKU-1001",
        "title": "Rain jacket",
        "gtin": "4006381333931",
        "retail_price": "89.90",
        "points_per_scan": "10",
        "active": "yes",
    }
    notes: ClassVar = {
        "sku": _("Required. Finds the product to change; a SKU that the brand does not have yet makes a new one."),
        "title": _("Required."),
        "gtin": _("8, 12, 13 or 14 digits."),
        "retail_price": _("Such as 89.90."),
        "points_per_scan": _("A whole number. Leave empty to use the level's points."),
        "active": _("yes or no: whether it is sold."),
    }

    class Meta:
        model = Product
        import_id_fields = ("sku",)
