"""The brand's products over HTTP, for its own systems and staff."""

from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from authcodes.codes import products
from authcodes.codes.bulk_changes import MAX_POINTS
from authcodes.models.products import Product
from brands.access.brand_access import BrandAccess, for_brand
from brands.access.endpoints import BrandView, ModelEndpoints, write_endpoint
from brands.identity.roles import ADD, CHANGE
from brands.models.credentials import ApiKey
from core.api.filters import IdsFilter, SinceFilter, SwitchFilter, TenantFilterSet, TextFilter
from core.api.inputs import ChangeInput, SwitchField
from core.api.openapi.examples import data_example, request_example
from core.api.openapi.shared_examples import WHEN
from core.api.outputs import Output, PointsField, TimestampField
from core.errors import NotFound

LABEL = "authcodes.product"
EXAMPLE = {
    "id": 311,
    "sku": "ALP-311",
    "title": "Alpine Jacket",
    "gtin": "4006381333931",
    "retail_price": 249.9,
    "points_per_scan": 50,
    "category": "Jackets",
    "tags": ["winter", "new"],
    "is_active": True,
    "created_at": WHEN,
    "updated_at": WHEN,
}
WRITTEN = {"sku": "ALP-311", "title": "Alpine Jacket", "retail_price": 249.9}
POINTS_TEXT = "Points per scan; null for those of the customer's level."


class BrandProductOutput(Output):
    id = serializers.IntegerField()
    sku = serializers.CharField()
    title = serializers.CharField()
    gtin = serializers.CharField(allow_blank=True)
    retail_price = PointsField(allow_null=True)
    points_per_scan = serializers.IntegerField(source="redeem_point_value", allow_null=True, help_text=POINTS_TEXT)
    category = serializers.CharField(allow_blank=True, help_text="The category that earning rules can refer to.")
    tags = serializers.ListField(child=serializers.CharField(), help_text="Tags that earning rules can refer to.")
    is_active = serializers.BooleanField(
        help_text="False if it is no longer sold. Its codes remain genuine and earn nothing."
    )
    created_at = TimestampField()
    updated_at = TimestampField()


class ProductChangeInput(ChangeInput):
    """Fields that are left out stay unchanged."""

    sku = serializers.CharField(required=False, max_length=64)
    title = serializers.CharField(required=False, max_length=200)
    gtin = serializers.CharField(required=False, max_length=14, allow_blank=True, help_text="8, 12, 13 or 14 digits.")
    retail_price = serializers.DecimalField(
        required=False, allow_null=True, max_digits=12, decimal_places=2, min_value=0
    )
    points_per_scan = serializers.IntegerField(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=MAX_POINTS,
        source="redeem_point_value",
        help_text=POINTS_TEXT,
    )
    category = serializers.CharField(required=False, max_length=80, allow_blank=True)
    tags = serializers.ListField(child=serializers.CharField(max_length=40), required=False, max_length=20)
    is_active = SwitchField(required=False)


class NewProductInput(ProductChangeInput):
    """`sku` must be unique within the brand."""

    sku = serializers.CharField(max_length=64)
    title = serializers.CharField(max_length=200)


class ProductFilter(TenantFilterSet):
    id = IdsFilter(description="Only these products: at most 100 ids, separated by commas.")
    sku = TextFilter(max_length=64, description="Only the product with this SKU.")
    gtin = TextFilter(max_length=14, description="Only products with this GTIN.")
    is_active = SwitchFilter(description="Only products that are sold, or only those that are not.")
    updated_since = SinceFilter(
        field_name="updated_at", description="Only products changed at this time or later, for synchronisation."
    )


PRODUCTS = ModelEndpoints(LABEL, BrandProductOutput, EXAMPLE, filters=ProductFilter)


class BrandProducts(BrandView):
    """The brand's products."""

    @PRODUCTS.list_endpoint("list_products", "List products")
    def get(self, access: BrandAccess) -> QuerySet[Product]:
        """List the brand's products, newest first. Needs the scope `read`.

        To synchronise a copy, note the time, request what changed with `updated_since`, and use the noted time for the
        next request.
        """
        return Product.objects.filter(brand=access.brand_id)

    @write_endpoint(
        "create_product",
        "Create a product",
        request=NewProductInput,
        responses={201: PRODUCTS.row_output},
        examples=[
            request_example("A product", WRITTEN),
            data_example("Created", EXAMPLE),
        ],
    )
    @for_brand(ApiKey.Scope.ADMIN, LABEL, ADD, writes=True)
    def post(self, request: Request, access: BrandAccess) -> Response:
        """Create a product. Needs the scope `admin`.

        `points_per_scan` must not exceed the brand's maximum per scan; more needs a second person in the portal.
        """
        values: dict[str, Any] = NewProductInput.parse(request.data)
        made = products.create(brand=access.brand, values=values, audit_context=access.audit_context())
        return Response(PRODUCTS.row_output.serialize(made), status=201)


class BrandProduct(BrandView):
    """One of the brand's products."""

    @PRODUCTS.row_endpoint("read_product", "Read a product")
    def get(self, access: BrandAccess, product_id: int) -> QuerySet[Product]:
        """Return a product. Needs the scope `read`."""
        return Product.objects.filter(brand=access.brand_id, pk=product_id)

    @write_endpoint(
        "change_product",
        "Change a product",
        request=ProductChangeInput,
        responses=PRODUCTS.row_output,
        raises=[NotFound],
        examples=[
            request_example("No longer sold", {"is_active": False}),
            data_example("Changed", {**EXAMPLE, "is_active": False}),
        ],
    )
    @for_brand(ApiKey.Scope.ADMIN, LABEL, CHANGE, writes=True)
    def patch(self, request: Request, access: BrandAccess, product_id: int) -> Response:
        """Change the fields that are sent; others stay unchanged. Needs the scope `admin`."""
        values: dict[str, Any] = ProductChangeInput.parse(request.data)
        changed = products.change(
            brand=access.brand, product_id=product_id, values=values, audit_context=access.audit_context()
        )
        return Response(PRODUCTS.row_output.serialize(changed))
