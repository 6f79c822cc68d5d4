"""Code ranges of a batch: resolving their ends, and previewing a change to them."""

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Count, Q
from django.utils.translation import gettext as _

from authcodes.codes.numbering import numbering_of
from authcodes.errors import BatchRejected
from authcodes.models.batches import BatchRange
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode, AuthCodeQuerySet
from authcodes.models.products import Product

NAMED_AT_MOST = 5  # sample codes shown on a page


@dataclass(frozen=True, slots=True)
class CodeRange:
    """The codes of `batch` from `first` to `last`, both inclusive."""

    batch: BatchRange
    first: str
    last: str
    size: int

    @property
    def codes(self) -> AuthCodeQuerySet:
        rows: AuthCodeQuerySet = AuthCode.objects.filter(batch=self.batch, code__range=(self.first, self.last))
        return rows

    def parts(self, size: int) -> "Iterator[CodeRange]":
        """The same codes in ranges of at most `size`, in order."""
        if self.batch.printed_elsewhere:
            yield from self._parts_in_order(size)
            return
        numbering = numbering_of(self.batch)
        low = numbering.number(self.first) or 0
        for begin in range(low, low + self.size, size):
            end = min(begin + size, low + self.size) - 1
            yield CodeRange(self.batch, numbering.code(begin), numbering.code(end), end - begin + 1)

    def _parts_in_order(self, size: int) -> "Iterator[CodeRange]":
        after = ""
        ordered = self.codes.order_by("code").values_list("code", flat=True)
        while rows := list(ordered.filter(code__gt=after)[:size]):
            after = rows[-1]
            yield CodeRange(self.batch, rows[0], after, len(rows))


@dataclass(frozen=True, slots=True)
class ChangePreview:
    """The current state of the codes: counts, and the first few codes that prevent a change or were scanned."""

    codes: int
    assigned: int
    taken: int
    scanned: int
    deactivated: int
    taken_codes: list[AuthCode]
    scanned_codes: list[AuthCode]


def resolve_range(*, batch: BatchRange, first: str, last: str) -> CodeRange:
    """The codes from `first` to `last`, each given in full, without leading zeros, or as a number alone.

    Raises BatchRejected with the field `first` or `last`.
    """
    if batch.printed_elsewhere:
        return _whole(batch, first.strip(), last.strip())
    numbering = numbering_of(batch)
    ends = []
    for field, text in (("first", first), ("last", last)):
        code = numbering.find(text.strip())
        if code is None:
            range_ends = {"first": batch.first_code, "last": batch.last_code}
            message = _("This code is not in the batch. Its codes are %(first)s to %(last)s.") % range_ends
            raise BatchRejected(message, details={"field": field})
        ends.append(code)
    low, high = (numbering.number(code) or 0 for code in ends)
    if low > high:
        message = _("The range ends before it starts.")
        raise BatchRejected(message, details={"field": "last"})
    if high - batch.starting_number >= batch.generated_count:
        message = _("Some of these codes are still being generated. Wait until the batch is ready.")
        raise BatchRejected(message, details={"field": "last"})
    return CodeRange(batch, ends[0], ends[1], high - low + 1)


def _whole(batch: BatchRange, first: str, last: str) -> CodeRange:
    """The whole of a batch printed elsewhere, or one of its codes. Raises BatchRejected for any other range."""
    codes = CodeRange(batch, first, last, batch.generated_count)
    if batch.generated_count and (first, last) == (batch.first_code, batch.last_code):
        return codes
    if first == last and codes.codes.exists():
        return CodeRange(batch, first, last, 1)
    message = _(
        "The codes of this batch were printed elsewhere and have no numbers. Choose all codes (%(first)s to "
        "%(last)s) or a single code, or use a list."
    )
    details = {"first": batch.first_code, "last": batch.last_code}
    raise BatchRejected(message % details, details={"field": "first"})


def full_range(batch: BatchRange) -> CodeRange:
    """All codes that the batch has so far. Raises BatchRejected if it has none."""
    if batch.printed_elsewhere:
        return _whole(batch, batch.first_code, batch.last_code)
    numbering = numbering_of(batch)
    last = numbering.code(batch.starting_number + max(batch.generated_count, 1) - 1)
    return resolve_range(batch=batch, first=batch.first_code, last=last)


def preview_change(codes: AuthCodeQuerySet, product: Product | None = None) -> ChangePreview:
    """Preview a change of `codes`. With `product`, codes of another product count as taken. Up to three queries."""
    other = Q(product__isnull=False) & ~Q(product=product) if product else Q(pk__in=[])
    counted = codes.order_by().aggregate(
        codes=Count("pk"),
        assigned=Count("product"),
        taken=Count("pk", filter=other),
        scanned=Count("pk", filter=Q(scan_count__gt=0)),
        deactivated=Count("deactivated_at"),
    )
    ordered = codes.select_related("product").order_by("code")
    taken = list(ordered.filter(other)[:NAMED_AT_MOST]) if counted["taken"] else []
    scanned = list(ordered.scanned()[:NAMED_AT_MOST]) if counted["scanned"] else []
    return ChangePreview(**counted, taken_codes=taken, scanned_codes=scanned)


def spans_more(change: CodeChange, batch: BatchRange) -> bool:
    """Whether unchanged codes lie between the first and the last changed code."""
    if batch.printed_elsewhere:
        if (change.first_code, change.last_code) == (batch.first_code, batch.last_code):
            return change.codes < batch.generated_count
        ordered = CodeRange(batch, change.first_code, change.last_code, 0).codes.order_by("code")
        return ordered[change.codes : change.codes + 1].exists()
    numbering = numbering_of(batch)
    low, high = (numbering.number(code) or 0 for code in (change.first_code, change.last_code))
    return high - low + 1 > change.codes
