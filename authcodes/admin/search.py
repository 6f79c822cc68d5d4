"""Searches codes and scans by code, product, customer or place; each reads an index, and no more than needed."""

import sys
from typing import Any

from django.contrib.admin.views.main import ORDER_VAR
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from authcodes.models.codes import AuthCode
from authcodes.models.products import Product
from authcodes.models.scans import Scan
from authcodes.places import search
from authcodes.reports.columns import CUSTOMER_IS_OURS
from brands.identity import customer_search
from brands.scanned import read

# Up to this many matching codes, scans are looked up by code; beyond it, by the start of the code.
MAX_CODES = 500
MAX_MATCHING_PRODUCTS = 50  # whose codes and scans a search shows


def beginning_with(text: str) -> dict[str, str]:
    """Filter conditions for codes that start with `text`, in byte order.

    A range, because LIKE cannot use an index under row-level security: PostgreSQL does not trust it with hidden rows.
    """
    following = ord(text[-1]) + 1
    following = 0xE000 if following == 0xD800 else following  # surrogates are not characters
    after = text[:-1] + chr(following) if following <= sys.maxunicode else ""
    return {"code__gte": text, **({"code__lt": after} if after else {})}


class Search:
    """A typed search: part of an e-mail address, else the start of a code, else a product's SKU or part of its title,
    else part of a code's location, else of a customer's name.

    A scanner may type a whole address, or a code with its tag.
    """

    def __init__(self, page: Any, request: HttpRequest, text: str) -> None:
        self.site, self.request = page.admin_site, request
        self.text = text.strip()
        reading = read(self.text)
        self.beginning = reading.code if reading else ""

    def codes(self, rows: QuerySet[AuthCode]) -> QuerySet[AuthCode]:
        """Matching codes; those found by their start are in code order, the order of the index."""
        if not self.text:
            return rows
        if "@" in self.text:
            return rows.filter(pk__in=self.filter_by_customers(self.seen(Scan)).values("auth_code"))
        if not self.some_codes(1):
            return self.codes_by_name(rows)
        matches = rows.filter(**beginning_with(self.beginning))
        return matches if ORDER_VAR in self.request.GET else matches.order_by("code")

    def codes_by_name(self, rows: QuerySet[AuthCode]) -> QuerySet[AuthCode]:
        """Codes of matching products, else places, else customers."""
        if products := self.products():
            return rows.filter(product__in=products)
        if places := self.recorded_places():
            return rows.filter(places)
        return rows.filter(pk__in=self.filter_by_customers(self.seen(Scan)).values("auth_code"))

    def scans(self, rows: QuerySet[Scan]) -> QuerySet[Scan]:
        if not self.text:
            return rows
        if "@" in self.text:
            return self.filter_by_customers(rows)
        codes = self.some_codes(MAX_CODES + 1)
        if len(codes) > MAX_CODES:
            return rows.filter(**beginning_with(self.beginning))
        if codes:
            return rows.filter(auth_code__in=codes)
        products = self.products()
        return rows.filter(product__in=products) if products else self.filter_by_customers(rows)

    def seen(self, model: Any) -> QuerySet[Any]:
        """The rows of another model that the user may see."""
        page = self.site.get_model_admin(model)
        rows: QuerySet[Any] = page.get_queryset(self.request)
        return rows

    def some_codes(self, most: int) -> list[int]:
        if not self.beginning:
            return []
        rows = self.seen(AuthCode).filter(**beginning_with(self.beginning)).order_by("code")
        return list(rows.values_list("pk", flat=True)[:most])

    def products(self) -> list[int]:
        named = Q(sku__istartswith=self.text) | Q(title__icontains=self.text)
        return list(
            self.seen(Product).filter(named).order_by("pk").values_list("pk", flat=True)[:MAX_MATCHING_PRODUCTS]
        )

    def recorded_places(self) -> Q | None:
        """Codes whose location, noted by staff or an import, matches; None if no place matches."""
        brands = self.site.get_model_admin(AuthCode).brands_seen(self.request)
        for column in search.FETCH_PLACES_OF_CODES:
            known = search.places_of_codes(brands, column)
            if places := search.find(self.text, known):
                return search.codes_at(column, places)
            exact = search.codes_at(column, [self.text])
            if len(known) >= search.MAX_KNOWN and self.seen(AuthCode).filter(exact).exists():
                return exact  # a place beyond those that were read
        return None

    def filter_by_customers(self, rows: QuerySet[Scan]) -> QuerySet[Scan]:
        """Scans by customers with this name, as far as the brand knows it."""
        brands = self.site.get_model_admin(Scan).brands_seen(self.request)
        customers = customer_search.find(self.text, [brand.pk for brand in brands])
        return rows.filter(CUSTOMER_IS_OURS, user__in=customers) if customers else rows.none()
