"""Hints for correcting an import's bad rows, shown next to the errors. Other systems rely on the errors' wording."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from django.db.models import Q
from django.utils.translation import gettext as _

from authcodes.codes.bulk_changes import ALREADY_ASSIGNED
from authcodes.imports.checks import NO_SKU
from authcodes.models.imports import Import, ImportRow
from authcodes.models.products import Product
from core.db.statements import query

MAX_SKUS = 20  # different SKUs looked up for a page
MAX_CANDIDATES = 500
BEGINNING = 2  # characters that a typing error rarely changes


@dataclass(frozen=True, slots=True)
class Owner:
    """The product of the first taken code of a row."""

    row_id: int
    code: str
    sku: str


FETCH_OWNERS = query("authcodes/imports/sql/fetch_owners.sql", returns=Owner)


def hints(upload: Import, rows: Iterable[ImportRow]) -> dict[int, str]:
    """A hint for each row, by row id. At most two queries for a page of rows."""
    result: dict[int, str] = {}
    unknown = [row for row in rows if row.error == NO_SKU and row.sku]
    if unknown:
        near = similar(upload.brand_id, {row.sku for row in unknown})
        message = _("Did you mean %(sku)s?")
        result |= {row.pk: message % {"sku": near[row.sku]} for row in unknown if row.sku in near}
    taken = [row.pk for row in rows if row.error == ALREADY_ASSIGNED]
    if taken:
        result |= owners(upload, taken)
    return result


def similar(brand_id: int, skus: set[str]) -> dict[str, str]:
    """For each unknown SKU, the brand's SKU that resembles it most."""
    unknown = sorted(skus)[:MAX_SKUS]
    beginnings = Q()
    for sku in unknown:
        beginnings |= Q(sku__istartswith=sku[:BEGINNING])
    own = Product.objects.filter(beginnings, brand=brand_id, is_active=True)
    candidates = {sku.casefold(): sku for sku in own.values_list("sku", flat=True)[:MAX_CANDIDATES] if sku}
    near = {sku: get_close_matches(sku.casefold(), candidates, n=1, cutoff=0.75) for sku in unknown}
    return {sku: candidates[matches[0]] for sku, matches in near.items() if matches}


def owners(upload: Import, rows: list[int]) -> dict[int, str]:
    """For each row, by id, the product of its first taken code."""
    message = _("%(code)s is assigned to %(sku)s.")
    taken = FETCH_OWNERS.all(upload=upload.pk, brand=upload.brand_id, product=upload.product_id, rows=rows)
    return {owner.row_id: message % {"code": owner.code, "sku": owner.sku} for owner in taken}
