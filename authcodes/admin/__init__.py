"""The portal's pages about products, codes, their scans and recalls, and the work on them."""

from authcodes.admin import (
    batches,
    changes,
    codes,
    fake_reports,
    imports,
    jobs,
    lifted,
    prefixes,
    printers,
    prints,
    products,
    recalls,
    scans,
)

__all__ = [
    "batches",
    "changes",
    "codes",
    "fake_reports",
    "imports",
    "jobs",
    "lifted",
    "prefixes",
    "printers",
    "prints",
    "products",
    "recalls",
    "scans",
]
