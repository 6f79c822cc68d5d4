"""Names of models and fields that staff read are marked for translation, and not Django's own, which stay English."""

from collections.abc import Iterator

from django.contrib import admin
from django.core.exceptions import FieldDoesNotExist
from django.db.models import Field
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from authcodes.models.batches import BatchRange
from loyalty.models.levels import BrandLevel

# Of Django itself, which translates them.
DJANGOS = {"password", "last_login", "is_superuser"}


def pages():
    """Every page, and the tables of other rows on it."""
    for model, page in admin.site._registry.items():
        yield model, page
        for inline in page.inlines:
            yield inline.model, inline


def flat(names) -> Iterator[str]:
    for each in names:
        if isinstance(each, list | tuple):
            yield from flat(each)
        elif isinstance(each, str):
            yield each


def names_on(page) -> set[str]:
    """What its columns, filters and sections name; without sections, each field that is edited."""
    sections = [options["fields"] for _title, options in page.fieldsets or ()]
    filters = [each[0] if isinstance(each, tuple) else each for each in getattr(page, "list_filter", ())]
    named = [page.fields or (), sections, page.readonly_fields, getattr(page, "list_display", ()), filters]
    if not page.fields and not page.fieldsets:
        named.append([field.name for field in page.model._meta.fields if field.editable and not field.primary_key])
    return set(flat(named))


def fields_on(page) -> Iterator[Field]:
    for name in sorted(names_on(page)):
        try:
            field = page.model._meta.get_field(name.split("__")[0])
        except FieldDoesNotExist:
            continue
        if isinstance(field, Field):
            yield field


def test_every_model_of_a_page_has_a_marked_name_and_plural():
    unmarked = [
        f"{model._meta.label}.{name}"
        for model, _page in pages()
        for name in ("verbose_name", "verbose_name_plural")
        if not isinstance(model._meta.original_attrs.get(name), Promise)
    ]

    assert unmarked == []


def test_every_field_that_a_page_shows_has_a_marked_name():
    unmarked = {
        f"{model._meta.label}.{field.name}"
        for model, page in pages()
        for field in fields_on(page)
        if field.name not in DJANGOS and not isinstance(field._verbose_name, Promise)
    }

    assert sorted(unmarked) == []


def test_the_pages_are_looked_into():
    seen = {f"{model._meta.label}.{field.name}" for model, page in pages() for field in fields_on(page)}

    assert {"authcodes.BatchRange.scan_limit", "brands.BrandHostname.hostname", "loyalty.Reward.is_active"} <= seen


def test_a_page_calls_its_list_after_the_model_unless_it_is_of_something_else():
    named = {model._meta.label for model, page in pages() if getattr(page, "list_name", "")}

    assert named == {
        "authcodes.PrintRun",
        "brands.AuditLogEntry",
        "loyalty.LoyaltyTransaction",
        "loyalty.PointsRollup",
    }


def test_names_are_the_glossarys():
    assert (BrandLevel._meta.verbose_name, BrandLevel._meta.verbose_name_plural) == ("level", "levels")
    assert BatchRange._meta.get_field("scan_limit").verbose_name == gettext_lazy("scan limit")
