"""The scope of a recall: whole batches, or a part of a batch from a first to a last code."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Q
from django.utils.translation import gettext as _

from authcodes.codes import batch_products, ranges
from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange, Recall
from authcodes.models.products import Product
from brands.models.tenants import Brand
from core.texts import shortened

MAX_BATCHES = 2000  # in one recall
MAX_IN_TITLE = 3


@dataclass(frozen=True, slots=True)
class Part:
    """A batch, or its codes from `first` to `last`; both are empty for the whole batch."""

    batch: BatchRange
    first: str = ""
    last: str = ""

    @property
    def codes(self) -> int:
        """The current number of codes."""
        if not self.last:
            return self.batch.generated_count
        return ranges.resolve_range(batch=self.batch, first=self.first, last=self.last).size

    @property
    def ends(self) -> tuple[str, str]:
        return (self.first, self.last) if self.last else (self.batch.first_code, self.batch.last_code)


@dataclass(frozen=True, slots=True)
class Scope:
    """The parts of a recall, at least one and all of one brand."""

    parts: tuple[Part, ...]

    @property
    def brand(self) -> Brand:
        return self.parts[0].batch.brand

    @property
    def batches(self) -> list[BatchRange]:
        return [part.batch for part in self.parts]

    @property
    def fingerprint(self) -> str:
        """Changes with the codes, so that only the previewed scope can be confirmed."""
        ends = [(part.batch.pk, part.first, part.last) for part in self.parts]
        return hashlib.sha256(repr(ends).encode()).hexdigest()[:24]

    @property
    def codes(self) -> int:
        return sum(part.codes for part in self.parts)

    @property
    def whole_ids(self) -> list[int]:
        return [part.batch.pk for part in self.parts if not part.last]

    @property
    def is_whole(self) -> bool:
        return all(not part.last for part in self.parts)

    @property
    def products(self) -> list[Product]:
        """The products of its batches, without duplicates."""
        products = {product.pk: product for part in self.parts if (product := part.batch.product)}
        return [products[key] for key in sorted(products)]

    @property
    def title(self) -> str:
        """The name that customers know: its products, else its batches."""
        named = [product.title for product in self.products] or [batch.range_name for batch in self.batches]
        return shortened(named, most=MAX_IN_TITLE)

    def codes_condition(self, code: str = "code") -> Q:
        """The codes as a condition on codes. `code`: the path to the code in another table with the batch."""
        condition = Q(batch__in=self.whole_ids)
        for part in self.parts:
            if part.last:
                condition |= Q(**{"batch": part.batch, f"{code}__range": (part.first, part.last)})
        return condition

    def scans_condition(self) -> Q:
        """The condition on scans of these codes."""
        return self.codes_condition("auth_code__code")


def recalled_text(batches: Sequence[BatchRange]) -> str:
    """Recalled batches, each with its recall."""
    return shortened([f"{batch.range_name} ({batch.recall})" for batch in batches])


def of_recall(recall: Recall) -> Scope:
    """The scope of a recall in force. One query. Raises BatchRejected if it has just been withdrawn."""
    rows = list(recall.batches.select_related("brand", "product").order_by("pk"))
    if not rows:
        raise BatchRejected(_("This recall has been withdrawn."))
    return Scope(tuple(Part(row, row.recalled_from, row.recalled_to) for row in rows))


def of_batches(batches: Sequence[BatchRange]) -> Scope:
    """Raises BatchRejected for no batches, too many, or batches of several brands."""
    if not batches:
        raise BatchRejected(_("Choose at least one batch."), details={"field": "batches"})
    if len(batches) > MAX_BATCHES:
        message = _("A recall can have at most %(most)s batches. Split these over several recalls.") % {
            "most": MAX_BATCHES
        }
        raise BatchRejected(message, details={"field": "batches"})
    if len({batch.brand_id for batch in batches}) > 1:
        raise BatchRejected(_("Choose batches of one brand."), details={"field": "batches"})
    return Scope(tuple(Part(batch) for batch in sorted(batches, key=lambda batch: batch.pk)))


def of_range(*, batch: BatchRange, first: str, last: str) -> Scope:
    """The codes from `first` to `last`, in full, without leading zeros, or as numbers. All codes: the whole batch.

    Raises BatchRejected with the field `first` or `last`.
    """
    chosen = ranges.resolve_range(batch=batch, first=first, last=last)
    if (chosen.first, chosen.last) == (batch.first_code, batch.last_code):
        return Scope((Part(batch),))
    return Scope((Part(batch, chosen.first, chosen.last),))


def added_to(scope: Scope, added: Scope) -> Scope:
    """The parts added to a recall with `scope`, merged with the part that it already has of the same batch.

    Raises BatchRejected, with `is_in_recall` for codes that the recall already has.
    """
    known = {part.batch.pk: part for part in scope.parts}
    return Scope(tuple(joined(known[part.batch.pk], part) if part.batch.pk in known else part for part in added.parts))


def joined(known: Part, added: Part) -> Part:
    """Merge two parts of a batch into one. Raises BatchRejected if that would include codes between them."""
    if not known.last or (added.last and known.first <= added.first and added.last <= known.last):
        message = _("These codes of %(batch)s are part of this recall already.") % {"batch": known.batch.range_name}
        raise BatchRejected(message, details={"field": "batch", "is_in_recall": True})
    if not added.last:
        return added
    first, last = min(known.first, added.first), max(known.last, added.last)
    both = of_range(batch=added.batch, first=first, last=last).parts[0]
    if both.codes > known.codes + added.codes:
        message = _(
            "Codes %(first)s … %(last)s of this batch are recalled. Codes that you add must overlap with these, or "
            "come directly before or after them."
        )
        raise BatchRejected(message % {"first": known.first, "last": known.last}, details={"field": "first"})
    return both


def union(scope: Scope, changed: Scope) -> Scope:
    """The whole scope of a recall with `changed` added.

    Raises BatchRejected for too many batches, another brand's, or those of a product that the recall does not have.
    """
    parts = {part.batch.pk: part for part in (*scope.parts, *changed.parts)}
    of_batches([part.batch for part in parts.values()])
    reject_other_products(scope, changed)
    return Scope(tuple(parts[key] for key in sorted(parts)))


def reject_other_products(scope: Scope, changed: Scope) -> None:
    """Customers are notified of a recall once: those who know its first products would not learn of others.

    All products of an added batch's codes count.
    """
    known = {batch.pk for batch in scope.batches}
    batches = [batch for batch in changed.batches if batch.pk not in known]
    made_for = {batch.product_id for batch in batches if batch.product_id}
    ids = made_for | batch_products.products_in([batch.pk for batch in batches])
    unnamed = [batch.pk for batch in scope.batches if batch.product_id is None] if ids else []
    new_products = ids - {product.pk for product in scope.products} - batch_products.products_in(unnamed)
    if new_products:
        titles = list(
            Product.objects.filter(pk__in=new_products).order_by("title", "pk").values_list("title", flat=True)
        )
        message = _(
            "Not part of this recall: %(products)s. Customers who have already been notified would not learn about "
            "other products. Start another recall for those."
        )
        raise BatchRejected(message % {"products": shortened(titles)}, details={"field": "batch"})
