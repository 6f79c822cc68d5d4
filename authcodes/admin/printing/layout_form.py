"""The part of the print form that places the parts of a label."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authcodes.models.prints import LabelLayout
from authcodes.printing import layouts
from authcodes.printing.checks import format_length
from authcodes.printing.labels.parts import ALWAYS, SLACK, SWITCHED, TEXTS, Part, PartName, Parts, least, problems
from portal.base.forms import DomainErrorForm
from portal.unfold import SelectWidget, TextWidget

AUTOMATIC, BY_HAND = "", "own"
LENGTHS = {
    "left": gettext_lazy("Left"),
    "top": gettext_lazy("Top"),
    "width": gettext_lazy("Width"),
    "height": gettext_lazy("Height"),
}


@dataclass(frozen=True, slots=True)
class LengthField:
    """A field of a part's row."""

    name: str
    length: str
    label: Any
    value: str


@dataclass(frozen=True, slots=True)
class Row:
    """A part as the page shows it: whether it is on the label, its position and its errors."""

    name: str
    label: str
    is_visible: bool
    length_fields: list[LengthField]
    is_text: bool
    centred: bool
    errors: list[str]
    switch: Any = None  # the field that switches it on or off
    text: Any = None  # the field with its text


def lengths_of(name: str) -> Iterable[str]:
    """The lengths of a part; a QR code is square and has no height of its own."""
    return ("left", "top", "width") if name == PartName.QR else LENGTHS


PART_FIELDS = frozenset(f"{name}_{length}" for name in PartName for length in LENGTHS)
UNSEEN_FIELDS = frozenset(("layout_name", "due_on", "order_note"))  # fields that no picture shows


class LayoutForm(DomainErrorForm):
    """Places the parts automatically, as in a saved layout, or at the lengths below. Errors appear at their part."""

    layout = forms.ChoiceField(
        label=gettext_lazy("Layout"),
        required=False,
        widget=SelectWidget,
        help_text=gettext_lazy(
            "Drag a part of the label to place it yourself. A saved layout is printed as it was saved."
        ),
    )
    layout_name = forms.CharField(
        label=gettext_lazy("Name of the layout"),
        required=False,
        max_length=layouts.MAX_NAME_LENGTH,
        widget=TextWidget,
        help_text=gettext_lazy("Keep the name to change the layout, or enter a new name."),
    )
    layout_from = forms.CharField(required=False, max_length=60, widget=forms.HiddenInput)

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.saved: dict[str, LabelLayout] = {}
        for name in PartName:
            for length in lengths_of(name):
                self.fields[f"{name}_{length}"] = forms.DecimalField(required=False, max_digits=7, decimal_places=2)
            if name in TEXTS:
                self.fields[f"{name}_centred"] = forms.BooleanField(required=False)

    def offer_layouts(self, brands: Any) -> None:
        self.saved = {str(row.pk): row for row in LabelLayout.objects.filter(brand__in=brands).select_related("brand")}
        several = len(brands) > 1
        named = [
            (key, f"{row.brand}: {name_with_size(row)}" if several else name_with_size(row))
            for key, row in self.saved.items()
        ]
        field: Any = self.fields["layout"]
        field.choices = [(AUTOMATIC, _("Automatic")), *named, (BY_HAND, _("Placed by hand"))]

    @property
    def chosen(self) -> LabelLayout | None:
        """The saved layout to print."""
        return self.saved.get(str(self["layout"].value() or ""))

    @property
    def opened(self) -> tuple[LabelLayout | None, str]:
        """The saved layout whose parts are being edited, and its version when it was opened."""
        key, _colon, version = str(self["layout_from"].value() or "").partition(":")
        return self.saved.get(key), version

    @property
    def is_printable(self) -> bool:
        """Whether labels and pages can be drawn as they would be printed."""
        return set(self.errors) <= UNSEEN_FIELDS

    @property
    def is_drawable(self) -> bool:
        """Whether a label can be drawn, if only to show what is wrong with its parts."""
        parts: Parts | None = self.cleaned_data.get("parts")
        if parts is None:
            return self.is_printable
        sizes = (length for part in parts.values() for length in (part.width, part.height))
        return set(self.errors) <= PART_FIELDS | UNSEEN_FIELDS and all(length > 0 for length in sizes)

    def shows(self, name: str, cleaned: dict[str, Any]) -> bool:
        return name in ALWAYS or bool(cleaned.get(name))

    def place_parts(self, cleaned: dict[str, Any], size: tuple[Decimal, Decimal] | None) -> None:
        """Place the parts on a label of this size. `size` is None if the sheet is invalid."""
        chosen = cleaned.get("layout", AUTOMATIC)
        saved = self.saved.get(chosen)
        if saved is not None:
            content = layouts.content_of(saved)
            cleaned |= {name.value: name in content.parts for name in SWITCHED}
            cleaned["note"] = content.note
            cleaned["parts"] = content.parts
        visible = [name for name in PartName if self.shows(name, cleaned)]
        self.drop_errors(name for name in PartName if chosen != BY_HAND or name not in visible)
        cleaned.setdefault("parts", self._placed_by_hand(visible, cleaned) if chosen == BY_HAND else None)
        if cleaned["parts"] and size:
            for problem in problems(cleaned["parts"], width=size[0], height=size[1]):
                self.add_error(problem.field, problem.message)

    def drop_errors(self, names: Iterable[str]) -> None:
        """Drop the errors of parts that are not printed."""
        for name in names:
            for length in LENGTHS:
                self.errors.pop(f"{name}_{length}", None)

    def _placed_by_hand(self, visible: list[PartName], cleaned: dict[str, Any]) -> Parts | None:
        parts = {}
        for name in visible:
            lengths = {length: cleaned.get(f"{name}_{length}") for length in lengths_of(name)}
            for length, value in lengths.items():
                if value is None and f"{name}_{length}" not in self.errors:
                    self.add_error(f"{name}_{length}", _("Enter a number of millimetres."))
            if None not in lengths.values():
                lengths.setdefault("height", lengths["width"])
                parts[str(name)] = Part(**lengths, centred=bool(cleaned.get(f"{name}_centred")))  # type: ignore[arg-type] # each length has a value
        return parts if len(parts) == len(visible) else None

    def part_rows(self, parts: Parts) -> Iterator[Row]:
        """The rows of the page; `parts` includes the boxes of automatically placed parts."""
        is_own = self["layout"].value() == BY_HAND
        for name in PartName:
            part = parts.get(name)
            values = {length: format_length(getattr(part, length)) if part else "" for length in lengths_of(name)}
            length_fields = [
                LengthField(
                    f"{name}_{length}",
                    length,
                    LENGTHS[length],
                    str(self[f"{name}_{length}"].value() or "") if is_own else value,
                )
                for length, value in values.items()
            ]
            centred = bool(self[f"{name}_centred"].value()) if is_own and name in TEXTS else bool(part and part.centred)
            own = name.value if name in SWITCHED or name == PartName.NOTE else ""
            fields = [*(field.name for field in length_fields), own]
            yield Row(
                name.value,
                str(name.label),
                name in ALWAYS or bool(self.cleaned_data.get(name)),
                length_fields,
                name in TEXTS,
                centred,
                [str(message) for field in fields for message in self.errors.get(field, [])],
                switch=self[own] if name in SWITCHED else None,
                text=self[own] if name == PartName.NOTE else None,
            )


def name_with_size(layout: LabelLayout) -> str:
    """The layout's name with its label size, marked if it is the default."""
    size = f"{format_length(layout.label_width)} x {format_length(layout.label_height)} mm"
    text = _("%(name)s (%(size)s)") % {"name": layout.name, "size": size}
    return _("%(layout)s, default") % {"layout": text} if layout.is_default else text


def limits() -> dict[str, Any]:
    """For the page's script: the minimum size of each part, and the tolerance."""
    sizes = {name.value: [float(length) for length in least(name)] for name in PartName}
    return {"slack": float(SLACK), "least": sizes}


def values_of(parts: Parts) -> dict[str, Any]:
    """The form values of these parts."""
    result: dict[str, Any] = {}
    for name, part in parts.items():
        result |= {f"{name}_{length}": format_length(getattr(part, length)) for length in lengths_of(name)}
        if name in TEXTS:
            result[f"{name}_centred"] = part.centred
    return result
