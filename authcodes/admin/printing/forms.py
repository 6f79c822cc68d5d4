"""The print form. Errors appear at the field that causes them."""

from collections.abc import Iterable
from dataclasses import fields
from decimal import Decimal
from typing import Any, ClassVar

from django import forms
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authcodes.admin.codes.bulk_forms import CodeRangeForm
from authcodes.admin.printing.layout_form import AUTOMATIC, BY_HAND, PART_FIELDS, LayoutForm, values_of
from authcodes.models.batches import BatchRange
from authcodes.models.prints import LabelLayout, Printer, PrintRun
from authcodes.models.products import Product
from authcodes.printing import checks
from authcodes.printing.labels.parts import PartName
from authcodes.printing.labels.presets import DEFAULT_PRESET, PRESETS, Preset, Sheet
from authcodes.printing.qr import images
from authcodes.printing.request import MAX_NOTE_LENGTH, PrintRequest
from brands.models.tenants import Brand
from core.errors import DomainError
from portal.base.forms import DayField
from portal.unfold import NumberWidget, SelectWidget, SwitchWidget, TextWidget

CUSTOM = "custom"
MILLIMETRES, INCHES = "mm", "in"
INCH = images.MILLIMETRES_PER_INCH
DECIMALS = 4  # of a length
SIZES = {
    "": gettext_lazy("Default for the sheet (images: 2 in)"),
    "20": gettext_lazy("2 cm"),
    "40": gettext_lazy("4 cm"),
    "50.8": gettext_lazy("2 in"),
    CUSTOM: gettext_lazy("Custom size"),
}

# Fields with the same name and value here and in PrintRequest.
SHARED_FIELDS = ("output", "payload", "level", "by_column", "cut_marks", "title", "sku", "expiry", "logo", "note")


def has_gtin(brands: Iterable[Any]) -> bool:
    return Product.objects.filter(brand__in=brands).exclude(gtin="").exists()


def choice(label: Any, choices: Iterable[Any], **more: Any) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, choices=list(choices), widget=SelectWidget, **more)


def length_field(label: Any, **more: Any) -> forms.DecimalField:
    """A field in millimetres; the sheet's own rules check its limits."""
    return forms.DecimalField(
        label=label,
        required=False,
        max_digits=8,
        decimal_places=DECIMALS,
        widget=NumberWidget(attrs={"step": "any", "inputmode": "decimal"}),
        **more,
    )


def whole_number(label: Any, **more: Any) -> forms.IntegerField:
    return forms.IntegerField(label=label, required=False, min_value=1, max_value=1000, widget=NumberWidget, **more)


def switch(label: Any, **more: Any) -> forms.BooleanField:
    return forms.BooleanField(label=label, required=False, widget=SwitchWidget, **more)


class PrintForm(LayoutForm):
    """How codes are printed, and the order for the print shop."""

    brands: QuerySet[Brand]  # whose codes may be printed

    output = choice(gettext_lazy("Output"), PrintRun.Output.choices)
    payload = choice(gettext_lazy("QR code content"), PrintRun.QrContent.choices)
    level = choice(
        gettext_lazy("Error correction"),
        [("", gettext_lazy("From the batch")), *BatchRange.ErrorCorrection.choices],
        required=False,
    )
    size = choice(
        gettext_lazy("QR code size"),
        SIZES.items(),
        required=False,
        help_text=gettext_lazy("Including its white margin."),
    )
    size_amount = length_field(gettext_lazy("Custom size"), help_text=gettext_lazy("At least 2 cm."))
    size_unit = choice(
        gettext_lazy("Unit"),
        [(MILLIMETRES, gettext_lazy("millimetres")), (INCHES, gettext_lazy("inches"))],
        required=False,
    )
    sheet = choice(
        gettext_lazy("Sheet"),
        [
            *((name, preset.title) for name, preset in PRESETS.items()),
            (CUSTOM, gettext_lazy("Custom sheet (in millimetres)")),
        ],
        help_text=gettext_lazy(
            "The label paper in your printer. Its pack says how many labels are on a sheet and how large they are."
        ),
    )
    page_width = length_field(gettext_lazy("Page width"))
    page_height = length_field(gettext_lazy("Page height"))
    left = length_field(gettext_lazy("Left margin to the first label"))
    top = length_field(gettext_lazy("Top margin to the first label"))
    label_width = length_field(gettext_lazy("Label width"))
    label_height = length_field(gettext_lazy("Label height"))
    pitch_x = length_field(gettext_lazy("Horizontal pitch (left edge to left edge)"))
    pitch_y = length_field(gettext_lazy("Vertical pitch (top edge to top edge)"))
    columns = whole_number(gettext_lazy("Labels across"))
    rows = whole_number(gettext_lazy("Labels down"))
    start = whole_number(
        gettext_lazy("Start at label number"),
        help_text=gettext_lazy("To reuse a partly used sheet. You can also click the label on the sheet."),
    )
    by_column = switch(gettext_lazy("Fill sheets column by column"))
    cut_marks = switch(gettext_lazy("Cut marks"))
    title = switch(gettext_lazy("Print the product title"))
    sku = switch(gettext_lazy("Print the SKU"))
    expiry = switch(gettext_lazy("Print the expiration date"))
    logo = switch(gettext_lazy("Print the brand's logo"))
    note = forms.CharField(
        label=gettext_lazy("Label text"), required=False, max_length=MAX_NOTE_LENGTH, widget=TextWidget
    )
    printer = forms.ModelChoiceField(
        Printer.objects.none(),
        label=gettext_lazy("Printer"),
        required=False,
        empty_label=gettext_lazy("Any printer (no correction)"),
        widget=SelectWidget,
        help_text=gettext_lazy("Applies the printer's offset and scale correction."),
    )

    due_on = DayField(label=gettext_lazy("Needed by"), required=False)
    order_note = forms.CharField(
        label=gettext_lazy("Note to the print shop"),
        required=False,
        max_length=PrintRun.order_note.field.max_length,
        widget=TextWidget,
        help_text=gettext_lazy("Shown in the queue, not on labels."),
    )

    SHEET: ClassVar[tuple[str, ...]] = tuple(field.name for field in fields(Sheet))
    # The fields of each column of the page, in order.
    CODES: ClassVar[tuple[str, ...]] = ("brand", "first", "last", "output", "payload", "level")
    SIZE: ClassVar[tuple[str, ...]] = ("size", "size_amount", "size_unit")
    ORDER: ClassVar[tuple[str, ...]] = ("due_on", "order_note")

    def limit_to_brands(self, brands: QuerySet[Brand]) -> None:
        """Limit the choices to these brands; GS1 links are offered only if a product has a GTIN."""
        self.brands = brands
        self.offer_layouts(brands)
        printer: Any = self.fields["printer"]
        printer.queryset = Printer.objects.filter(brand__in=brands)
        if len(brands) > 1:
            printer.queryset = printer.queryset.select_related("brand").order_by("brand__name", "name", "id")
            printer.label_from_instance = "{0.brand}: {0.name}".format
        if not has_gtin(brands):
            field: Any = self.fields["payload"]
            field.choices = [choice for choice in field.choices if choice[0] != PrintRun.QrContent.GS1]

    @property
    def field_groups(self) -> dict[str, list[Any]]:
        """The fields in the groups of the page."""
        groups = {"sheet": self.SHEET, "codes": self.CODES, "size": self.SIZE, "order": self.ORDER}
        return {title: [self[name] for name in names if name in self.fields] for title, names in groups.items()}

    @property
    def opens_sheet(self) -> bool:
        return self["sheet"].value() == CUSTOM or any(name in self.errors for name in self.SHEET)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if cleaned.get("output") == PrintRun.Output.LABELS and cleaned.get("layout", AUTOMATIC) != AUTOMATIC:
            for name in self.SIZE:  # the layout sets the size of the QR code
                self.errors.pop(name, None)
        elif cleaned.get("size") == CUSTOM and not cleaned.get("size_amount"):
            self._require("size_amount")
        if cleaned.get("output") == PrintRun.Output.LABELS:
            if cleaned.get("sheet") == CUSTOM:
                for name in self.SHEET:
                    if cleaned.get(name) is None:
                        self._require(name)
            self.place_parts(cleaned, self.label_size)
        else:
            self.drop_errors(PartName)
            for name in (*self.SHEET, "start"):  # images have no sheet
                self.errors.pop(name, None)
        brands = [cleaned["brand"]] if cleaned.get("brand") else self.brands
        due, now = cleaned.get("due_on"), timezone.now()
        if due and due < min((brand.day_at(now) for brand in brands), default=due):
            self.add_error("due_on", _("The date is in the past. Enter today or later."))
        return cleaned

    @property
    def label_size(self) -> tuple[Decimal, Decimal] | None:
        """In millimetres; None if the sheet is invalid."""
        cleaned = self.cleaned_data
        if cleaned.get("sheet") == CUSTOM:
            width, height = cleaned.get("label_width"), cleaned.get("label_height")
            return (width, height) if width is not None and height is not None else None
        sheet = PRESETS[cleaned["sheet"]].sheet if "sheet" in cleaned else None
        return (sheet.label_width, sheet.label_height) if sheet else None

    @property
    def error_rows(self) -> list[tuple[str, Any, str]]:
        """Each error as field name, label and message; `title_left` has the label of the part, “Title”."""
        return [
            (name if name in self.fields else "", self.error_label(name), str(message))
            for name, errors in self.errors.items()
            for message in errors
        ]

    def error_label(self, name: str) -> Any:
        part = name.partition("_")[0]
        if name in PART_FIELDS:
            return PartName(part).label
        return self.fields[name].label if name in self.fields else ""

    def _require(self, name: str) -> None:
        if name not in self.errors:
            self.add_error(name, _("This field is required."))

    def add_domain_error(self, error: DomainError) -> None:
        """Show a rule's error at the field that it names. A size consists of two fields."""
        if error.details.get("field") in {"size_mm", "qr_mm"}:
            field = "size_amount" if self.cleaned_data.get("size") == CUSTOM else "size"
            self.add_error(field, error.message)
        else:
            super().add_domain_error(error)

    def print_request(self) -> PrintRequest:
        """The print request of a valid form."""
        cleaned = self.cleaned_data
        is_custom = cleaned["sheet"] == CUSTOM
        sheet: dict[str, Any] = {name: cleaned.get(name) for name in self.SHEET} if is_custom else {}
        return PrintRequest(
            **{name: cleaned[name] for name in SHARED_FIELDS},
            **correction(cleaned["printer"]),
            size_mm=None if cleaned.get("parts") else self._size(cleaned),
            preset=DEFAULT_PRESET if is_custom else cleaned["sheet"],
            parts=cleaned.get("parts"),
            layout=self.chosen.name if cleaned.get("parts") and self.chosen else "",
            sheet=Sheet(**sheet) if sheet and None not in sheet.values() else None,
            start=cleaned.get("start") or 1,
        )

    @staticmethod
    def _size(data: dict[str, Any]) -> Decimal | None:
        """In millimetres, with as many decimals as the field takes when it shows the size again."""
        if data["size"] == CUSTOM:
            amount: Decimal = data["size_amount"]
            return round(amount * INCH, DECIMALS) if data["size_unit"] == INCHES else amount
        return Decimal(data["size"]) if data["size"] else None


def correction(printer: Printer | None) -> dict[str, Any]:
    """The settings that correct for a printer."""
    if printer is None:
        return {}
    return {
        "printer": printer.name,
        "offset_x": printer.offset_x,
        "offset_y": printer.offset_y,
        "scale": printer.scale,
    }


def initial_of(print_request: PrintRequest) -> dict[str, Any]:
    """Form values that repeat a print request, except for its printer."""
    size = checks.format_length(print_request.size_mm)
    sheet = print_request.sheet or print_request.chosen_preset.sheet
    return {
        **{name: getattr(print_request, name) for name in SHARED_FIELDS},
        "start": print_request.start,
        **lengths_of_sheet(sheet),
        "size": size if size in SIZES else CUSTOM,
        "size_amount": "" if size in SIZES else size,
        "sheet": CUSTOM if print_request.sheet else print_request.preset,
        "layout": BY_HAND if print_request.parts else AUTOMATIC,
        **values_of(print_request.parts or {}),
    }


def initial_sheet(preset: Preset) -> dict[str, Any]:
    """As `initial_of`, for a sheet alone."""
    return {"sheet": preset.name, **lengths_of_sheet(preset.sheet)}


def lengths_of_sheet(sheet: Sheet) -> dict[str, Any]:
    return {name: getattr(sheet, name) for name in PrintForm.SHEET}


def preset_of(layout: LabelLayout, fallback: str) -> Preset:
    """A preset with labels of the layout's size; `fallback` if it fits or if none does."""

    def fits(preset: Preset) -> bool:
        return (preset.sheet.label_width, preset.sheet.label_height) == (layout.label_width, layout.label_height)

    if fits(PRESETS[fallback]):
        return PRESETS[fallback]
    return next(filter(fits, PRESETS.values()), PRESETS[fallback])


class BatchPrintForm(CodeRangeForm, PrintForm):
    """Prints a code range of a batch."""

    field_order = ("first", "last", "output")


class ListPrintForm(PrintForm):
    """Prints the codes of a list; asks for the brand if the list has several."""

    brand = forms.ModelChoiceField(Brand.objects.none(), label=gettext_lazy("Brand"), widget=SelectWidget)
    field_order = ("brand", "output")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        brand, is_labels = cleaned.get("brand"), cleaned.get("output") == PrintRun.Output.LABELS
        for name, row in (("printer", cleaned.get("printer")), ("layout", self.chosen)):
            if row and brand and row.brand_id != brand.pk:
                if is_labels:
                    self.add_error(name, _("Choose one of the same brand."))
                else:  # images have neither, and their form shows neither
                    cleaned[name] = None
        return cleaned

    def limit_to_brands(self, brands: QuerySet[Brand]) -> None:
        super().limit_to_brands(brands)
        field: Any = self.fields["brand"]
        field.queryset, field.empty_label = brands, None
        if len(brands) == 1:
            field.initial, field.widget = brands[0].pk, forms.HiddenInput()
