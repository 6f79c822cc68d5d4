"""Which codes of a batch were put into print files that are finished."""

from authcodes.codes.spans import Span, full_span, joined, span_of
from authcodes.models.batches import BatchRange
from authcodes.models.prints import PrintRun
from jobs.models import Job


def printed(batch: BatchRange) -> list[Span]:
    """The numbers, as Home counts them: files of listed codes, which may leave some out, do not count. One query."""
    if batch.printed_elsewhere:
        return [full_span(batch)] if batch.generated_count else []
    rows = PrintRun.objects.filter(brand=batch.brand_id, batch=batch, job__status=Job.Status.DONE)
    spans = (span_of(batch, first, last) for first, last in rows.order_by().values_list("first_code", "last_code"))
    return joined(span for span in spans if span is not None)
