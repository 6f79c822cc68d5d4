"""Page: what a brand sells."""

from django.contrib import admin

from authcodes.models import Product
from brands.portal import TenantAdmin


@admin.register(Product)
class ProductPage(TenantAdmin):
    list_display = ("title", "sku", "retail_price", "redeem_point_value", "is_active")
    list_filter = ("is_active",)
    search_fields = ("sku", "title")
    fieldsets = (
        (
            None,
            {"fields": ("brand", ("title", "sku"), ("retail_price", "redeem_point_value"), ("gtin", "is_active"))},
        ),
    )
