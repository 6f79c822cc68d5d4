"""What a product carries: products, batches of codes, the codes, their scans and recalls, and the work on them."""

from authcodes.models.batches import BatchRange, Recall
from authcodes.models.codes import AuthCode, AuthCodeQuerySet
from authcodes.models.imports import Import, ImportChange, ImportRow
from authcodes.models.jobs import Job
from authcodes.models.products import Product
from authcodes.models.scans import Scan

__all__ = [
    "AuthCode",
    "AuthCodeQuerySet",
    "BatchRange",
    "Import",
    "ImportChange",
    "ImportRow",
    "Job",
    "Product",
    "Recall",
    "Scan",
]
