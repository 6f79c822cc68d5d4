"""The portal's pages for products, codes, scans and recalls."""

from authcodes.admin import fake_reports, imports, products, scans
from authcodes.admin.batches import batches
from authcodes.admin.codes import change_log, codes, prefixes
from authcodes.admin.printing import label_layouts, printers, runs
from authcodes.admin.recalls import pages, withdrawn

__all__ = [
    "batches",
    "change_log",
    "codes",
    "fake_reports",
    "imports",
    "label_layouts",
    "pages",
    "prefixes",
    "printers",
    "products",
    "runs",
    "scans",
    "withdrawn",
]
