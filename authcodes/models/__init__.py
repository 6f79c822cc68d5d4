"""What a product carries: products, batches of codes, the codes, their scans and recalls, and the work on them."""

from authcodes.models.batches import BatchRange, Recall
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode, AuthCodeQuerySet
from authcodes.models.fake_reports import FakeReport
from authcodes.models.imports import Import, ImportChange, ImportRow
from authcodes.models.lookups import CodeLookup
from authcodes.models.prefixes import CodePrefix
from authcodes.models.prints import LabelLayout, Printer, PrintRun
from authcodes.models.products import Product
from authcodes.models.recalls import RecallReturn, WithdrawnBatch, WithdrawnRecall
from authcodes.models.rollups import (
    BatchPlaceRollup,
    DayRollup,
    PlaceRollup,
    RollupWatermark,
    UniqueScanner,
    UniqueScannerRollup,
    UnscannedCodeAttempt,
)
from authcodes.models.scans import Scan

__all__ = [
    "AuthCode",
    "AuthCodeQuerySet",
    "BatchPlaceRollup",
    "BatchRange",
    "CodeChange",
    "CodeLookup",
    "CodePrefix",
    "DayRollup",
    "FakeReport",
    "Import",
    "ImportChange",
    "ImportRow",
    "LabelLayout",
    "PlaceRollup",
    "PrintRun",
    "Printer",
    "Product",
    "Recall",
    "RecallReturn",
    "RollupWatermark",
    "Scan",
    "UniqueScanner",
    "UniqueScannerRollup",
    "UnscannedCodeAttempt",
    "WithdrawnBatch",
    "WithdrawnRecall",
]
