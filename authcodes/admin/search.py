"""Searching codes and scans by code, product, customer or place: each way reads an index, and no more than it must."""

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

# Codes whose scans are looked up one by one; where more begin so, the scans are read in their order.
MAX_CODES = 500
MAX_MATCHING_PRODUCTS = 50  # whose codes and scans a search shows


def beginning_with(text: str) -> dict[str, str]:
    """What to filter codes by that begin so, for codes in the order of their bytes.

    As a range, because LIKE finds no index under row-level security: PostgreSQL does not trust it with hidden rows.
    """
    following = ord(text[-1]) + 1
    following = 0xE000 if following == 0xD800 else following  # between them are no letters
    after = text[:-1] + chr(following) if following <= sys.maxunicode else ""
    return {"code__gte": text, **({"code__lt": after} if after else {})}


class Search:
    """What somebody typed: a part of an e-mail address, else how a code begins, else a product's SKU or a part of its
    title, else a part of where codes are kept, else of a customer's name.

    What a scanner types into the box may be a whole address or carry a tag.
    """

    def __init__(self, page: Any, request: HttpRequest, text: str) -> None:
        self.site, self.request = page.admin_site, request
        self.text = text.strip()
        reading = read(self.text)
        self.beginning = reading.code if reading else ""

    def codes(self, rows: QuerySet[AuthCode]) -> QuerySet[AuthCode]:
        """In the order of the codes where they begin so: theirs is the index that finds them."""
        if not self.text:
            return rows
        if "@" in self.text:
            return rows.filter(pk__in=self.filter_by_customers(self.seen(Scan)).values("auth_code"))
        if not self.some_codes(1):
            return self.codes_by_name(rows)
        matches = rows.filter(**beginning_with(self.beginning))
        return matches if ORDER_VAR in self.request.GET else matches.order_by("code")

    def codes_by_name(self, rows: QuerySet[AuthCode]) -> QuerySet[AuthCode]:
        """Of products, else places, else customers who are called so."""
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
        """The rows of another list that this person may see."""
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
        """Codes of which staff or an import wrote where they are; None where no place is called so."""
        brands = self.site.get_model_admin(AuthCode).brands_seen(self.request)
        for column in search.FETCH_PLACES_OF_CODES:
            if places := search.find(self.text, search.places_of_codes(brands, column)):
                return search.codes_at(column, places)
        return None

    def filter_by_customers(self, rows: QuerySet[Scan]) -> QuerySet[Scan]:
        """Scans by customers who are called so, as far as the brand knows them."""
        brands = self.site.get_model_admin(Scan).brands_seen(self.request)
        customers = customer_search.find(self.text, [brand.pk for brand in brands])
        return rows.filter(CUSTOMER_IS_OURS, user__in=customers) if customers else rows.none()
