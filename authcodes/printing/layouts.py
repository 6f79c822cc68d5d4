"""Saved layouts: the only module that writes the layouts of a brand's labels."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db import transaction
from django.utils.translation import gettext as _

from authcodes.models.prints import LabelLayout
from authcodes.printing.labels.parts import Parts, from_json, problems, to_json
from authcodes.printing.request import MAX_NOTE_LENGTH
from brands.models.tenants import Brand
from core.errors import Invalid

MAX_LAYOUTS = 50  # for each brand
MAX_NAME_LENGTH = 60
COPIES = 100  # names tried for a copy


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a layout; lengths in millimetres."""

    label_width: Decimal
    label_height: Decimal
    parts: Parts
    note: str = ""

    def check(self) -> None:
        """Raises Invalid with the part's setting, for what cannot be printed."""
        for problem in problems(self.parts, width=self.label_width, height=self.label_height):
            raise Invalid(problem.message, details={"field": problem.field})
        if len(self.note) > MAX_NOTE_LENGTH:
            message = _("The label text has at most %(most)d characters.") % {"most": MAX_NOTE_LENGTH}
            raise Invalid(message, details={"field": "note"})


def content_of(layout: LabelLayout) -> Content:
    return Content(layout.label_width, layout.label_height, from_json(layout.parts), layout.note)


def version_of(layout: LabelLayout) -> str:
    """A digest that changes whenever the layout does."""
    lengths = [str(length.normalize()) for length in (layout.label_width, layout.label_height)]
    content = json.dumps([layout.name, layout.parts, layout.note, *lengths], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def create(*, brand: Brand, name: str, content: Content) -> LabelLayout:
    """Save a layout under a new name. Raises Invalid with the setting."""
    content.check()
    with transaction.atomic():
        _lock(brand)
        if LabelLayout.objects.filter(brand=brand).count() >= MAX_LAYOUTS:
            message = _("A brand has at most %(most)d layouts. Delete one that nobody uses.") % {"most": MAX_LAYOUTS}
            raise Invalid(message, details={"field": "layout_name"})
        _check_name(brand, name)
        return LabelLayout.objects.create(brand=brand, name=name, **_fields(content))


def change(*, layout: LabelLayout, content: Content, version: str) -> LabelLayout:
    """Save new content for a layout that was opened at `version`. Raises Invalid."""
    content.check()
    with transaction.atomic():
        _lock(layout.brand)
        now = LabelLayout.objects.filter(pk=layout.pk).first()
        if now is None:
            message = _("This layout was deleted in the meantime. Save it under a new name.")
            raise Invalid(message, details={"field": "layout_name"})
        if version_of(now) != version:
            message = _(
                "Someone else changed this layout after you opened it. Choose it again, or save under a new name."
            )
            raise Invalid(message, details={"field": "layout_name"})
        fields = _fields(content)
        for field, value in fields.items():
            setattr(now, field, value)
        now.save(update_fields=list(fields))
        return now


def rename(*, layout: LabelLayout, name: str) -> None:
    LabelLayout.objects.filter(pk=layout.pk).update(name=name)


def copy(*, layout: LabelLayout) -> LabelLayout:
    """A copy under another name, not the default. Raises Invalid if the brand has too many layouts."""
    taken = set(LabelLayout.objects.filter(brand=layout.brand_id).values_list("name", flat=True))
    names = (_copy_name(layout.name, number) for number in range(1, COPIES))
    name = next(name for name in names if name not in taken)
    return create(brand=layout.brand, name=name, content=content_of(layout))


def make_default(*, layout: LabelLayout) -> Sequence[LabelLayout]:
    """Make it the default for new prints of the brand. Returns the previous default, if any."""
    with transaction.atomic():
        _lock(layout.brand)
        before = list(LabelLayout.objects.filter(brand=layout.brand_id, is_default=True).exclude(pk=layout.pk))
        LabelLayout.objects.filter(brand=layout.brand_id, is_default=True).update(is_default=False)
        LabelLayout.objects.filter(pk=layout.pk).update(is_default=True)
    return before


def clear_default(*, layout: LabelLayout) -> None:
    """New prints of the brand have no default layout again."""
    LabelLayout.objects.filter(pk=layout.pk).update(is_default=False)


def delete(*, layout: LabelLayout) -> None:
    """Earlier prints with this layout keep the positions of their parts."""
    LabelLayout.objects.filter(pk=layout.pk).delete()


def _lock(brand: Brand) -> None:
    """Lock the brand: names, number and default of its layouts are checked before they change."""
    Brand.objects.select_for_update(no_key=True).only("pk").get(pk=brand.pk)


def _check_name(brand: Brand, name: str) -> None:
    if LabelLayout.objects.filter(brand=brand, name=name).exists():
        message = _("This brand has another layout with this name. Choose a different name.")
        raise Invalid(message, details={"field": "layout_name"})


def _copy_name(name: str, number: int) -> str:
    """The name of a copy, truncated to fit the maximum length."""
    text = _("%(name)s (copy)") if number == 1 else _("%(name)s (copy %(number)d)")
    added = len(text % {"name": "", "number": number})
    return text % {"name": name[: MAX_NAME_LENGTH - added], "number": number}


def _fields(content: Content) -> dict[str, object]:
    return {
        "label_width": content.label_width,
        "label_height": content.label_height,
        "parts": to_json(content.parts),
        "note": content.note,
    }
