"""What products carry: products, batches, codes, scans, recalls, and the work on them."""

from authcodes.models import (
    batches,
    code_history,
    codes,
    fake_reports,
    imports,
    lookups,
    prefixes,
    prints,
    products,
    recalls,
    rollups,
    scans,
)
