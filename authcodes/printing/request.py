"""The print request: how codes are to be printed."""

import json
from dataclasses import asdict, dataclass, fields
from decimal import Decimal
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.utils.translation import gettext as _

from authcodes.models.batches import BatchRange
from authcodes.models.prints import PrintRun
from authcodes.printing.labels import parts as label_parts
from authcodes.printing.labels.design import Design
from authcodes.printing.labels.parts import Part, PartName
from authcodes.printing.labels.presets import DEFAULT_PRESET, PRESETS, Preset, Sheet, wrong
from authcodes.printing.qr import images
from authcodes.printing.qr.encoder import Level

Output, QrContent = PrintRun.Output, PrintRun.QrContent
MAX_NOTE_LENGTH = 80  # characters of a note on labels


@dataclass(frozen=True, slots=True)
class PrintRequest:
    """How codes are to be printed. Lengths in millimetres; `sheet` is set if no preset is used."""

    output: str = Output.LABELS.value
    payload: str = QrContent.ADDRESS.value  # what the QR codes contain
    level: str = ""  # of error correction; empty: that of each code's batch
    size_mm: Decimal | None = None  # of a code with its quiet zone; None: the sheet's size, for images 2 in
    preset: str = DEFAULT_PRESET
    sheet: Sheet | None = None
    start: int = 1  # the number of the first label on the first page
    by_column: bool = False
    cut_marks: bool = False
    title: bool = True
    sku: bool = False
    expiry: bool = False
    logo: bool = False
    logo_sha256: str = ""  # of the logo that a run prints, set once it is started
    note: str = ""
    printer: str = ""  # the printer that this correction is for
    offset_x: Decimal = Decimal(0)
    offset_y: Decimal = Decimal(0)
    scale: Decimal = Decimal(1)
    parts: dict[str, Part] | None = None  # of the brand's own layout; None: automatic placement
    layout: str = ""  # the name of the saved layout that they come from

    @property
    def is_labels(self) -> bool:
        return self.output == Output.LABELS

    @property
    def image_mm(self) -> Decimal:
        """The width of images."""
        return self.size_mm or images.DEFAULT_SIZE_MM

    @property
    def chosen_preset(self) -> Preset:
        """Raises Invalid if the request was stored by an earlier release with a preset that no longer exists."""
        if self.preset not in PRESETS:
            message = _("The sheet “%(name)s” no longer exists. Choose another one.")
            raise wrong("sheet", message % {"name": self.preset})
        return PRESETS[self.preset]

    @property
    def fitting_preset(self) -> Preset:
        """The preset; if its labels are too small for the size, the large enough preset with the most labels."""
        chosen = self.chosen_preset
        if self.parts or self.size_mm is None or self.size_mm <= chosen.qr_mm:
            return chosen
        large_enough = [preset for preset in PRESETS.values() if preset.qr_mm >= self.size_mm]
        return max(large_enough, key=lambda preset: preset.sheet.per_page, default=chosen)

    def level_of(self, batch: BatchRange) -> Level:
        return Level[self.level or batch.error_correction]

    def design(self, logo: bytes | None = None) -> Design:
        """The label design, not checked yet."""
        if self.sheet:
            sheet, qr_mm = self.sheet, self.size_mm or images.MIN_SIZE_MM
        else:
            sheet, qr_mm = self.fitting_preset.sheet, self.size_mm or self.fitting_preset.qr_mm
        if self.parts and PartName.QR in self.parts:
            qr_mm = self.parts[PartName.QR].width
        return Design(
            sheet,
            qr_mm,
            logo=logo,
            start=self.start,
            by_column=self.by_column,
            cut_marks=self.cut_marks,
            offset_x=self.offset_x,
            offset_y=self.offset_y,
            scale=self.scale,
            parts=self.parts,
        )

    def to_json(self) -> dict[str, Any]:
        """The request as JSON, for a print run."""
        data: dict[str, Any] = json.loads(json.dumps(asdict(self), cls=DjangoJSONEncoder))
        if self.parts:
            data["parts"] = label_parts.to_json(self.parts)
        return data

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "PrintRequest":
        """The request that `to_json` wrote."""
        known = {field.name: stored[field.name] for field in fields(cls) if field.name in stored}
        for name in ("size_mm", "offset_x", "offset_y", "scale"):
            if known.get(name) is not None:
                known[name] = Decimal(known[name])
        if known.get("parts"):
            known["parts"] = label_parts.from_json(known["parts"])
        if known.get("sheet"):
            lengths = {name: Decimal(value) for name, value in known["sheet"].items()}
            counts = {name: int(known["sheet"][name]) for name in ("columns", "rows")}
            known["sheet"] = Sheet(**{**lengths, **counts})  # type: ignore[arg-type] # each has its own field's type
        return cls(**known)
