"""The portal's pages about products, codes, their scans and recalls."""

from authcodes.admin import fake_reports, imports, products, recalls, scans, withdrawn_recalls
from authcodes.admin.codes import batches, change_log, codes, prefixes
from authcodes.admin.printing import label_layouts, printers, runs

__all__ = [
    "batches",
    "change_log",
    "codes",
    "fake_reports",
    "imports",
    "label_layouts",
    "prefixes",
    "printers",
    "products",
    "recalls",
    "runs",
    "scans",
    "withdrawn_recalls",
]
