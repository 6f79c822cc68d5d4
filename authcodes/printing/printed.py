"""Which codes of a batch are in finished print files."""

from authcodes.codes.spans import Span, full_span, joined, span_of
from authcodes.models.batches import BatchRange
from authcodes.models.prints import PrintRun
from jobs.models import Job


def printed(batch: BatchRange) -> list[Span]:
    """The printed numbers, as counted by Home: print runs of lists do not count, as they may omit codes. One query."""
    if batch.printed_elsewhere:
        return [full_span(batch)] if batch.generated_count else []
    rows = PrintRun.objects.filter(brand=batch.brand_id, batch=batch, job__status=Job.Status.DONE)
    spans = (span_of(batch, first, last) for first, last in rows.order_by().values_list("first_code", "last_code"))
    return joined(span for span in spans if span is not None)
