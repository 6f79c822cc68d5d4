"""Names of models and fields on the portal's pages are marked for translation; Django translates its own."""

from collections.abc import Iterator

from django.contrib import admin
from django.core.exceptions import FieldDoesNotExist
from django.db.models import Field
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from authcodes.models.batches import BatchRange
from loyalty.models.levels import BrandLevel

# Fields of Django itself, which translates their names.
DJANGO_FIELDS = {"password", "last_login", "is_superuser"}


def model_admins():
    """Every model admin and its inlines, with their models."""
    for model, model_admin in admin.site._registry.items():
        yield model, model_admin
        for inline in model_admin.inlines:
            yield inline.model, inline


def flattened(names) -> Iterator[str]:
    for name in names:
        if isinstance(name, list | tuple):
            yield from flattened(name)
        elif isinstance(name, str):
            yield name


def field_names_of(model_admin) -> set[str]:
    """The names in its columns, filters and sections; without sections, each editable field."""
    sections = [options["fields"] for _title, options in model_admin.fieldsets or ()]
    filters = [
        filter_spec[0] if isinstance(filter_spec, tuple) else filter_spec
        for filter_spec in getattr(model_admin, "list_filter", ())
    ]
    field_lists = [
        model_admin.fields or (),
        sections,
        model_admin.readonly_fields,
        getattr(model_admin, "list_display", ()),
        filters,
    ]
    if not model_admin.fields and not model_admin.fieldsets:
        field_lists.append(
            [field.name for field in model_admin.model._meta.fields if field.editable and not field.primary_key]
        )
    return set(flattened(field_lists))


def fields_of(model_admin) -> Iterator[Field]:
    for name in sorted(field_names_of(model_admin)):
        try:
            field = model_admin.model._meta.get_field(name.split("__")[0])
        except FieldDoesNotExist:
            continue
        if isinstance(field, Field):
            yield field


def test_every_model_has_a_name_and_plural_marked_for_translation():
    unmarked = [
        f"{model._meta.label}.{name}"
        for model, _model_admin in model_admins()
        for name in ("verbose_name", "verbose_name_plural")
        if not isinstance(model._meta.original_attrs.get(name), Promise)
    ]

    assert unmarked == []


def test_every_displayed_field_has_a_name_marked_for_translation():
    unmarked = {
        f"{model._meta.label}.{field.name}"
        for model, model_admin in model_admins()
        for field in fields_of(model_admin)
        if field.name not in DJANGO_FIELDS and not isinstance(field._verbose_name, Promise)
    }

    assert sorted(unmarked) == []


def test_checked_fields_include_those_of_forms_inlines_and_lists():
    checked = {
        f"{model._meta.label}.{field.name}" for model, model_admin in model_admins() for field in fields_of(model_admin)
    }

    assert {"authcodes.BatchRange.scan_limit", "brands.BrandHostname.hostname", "loyalty.Reward.is_active"} <= checked


def test_only_these_lists_are_not_named_after_their_model():
    with_list_name = {
        model._meta.label for model, model_admin in model_admins() if getattr(model_admin, "list_name", "")
    }

    assert with_list_name == {
        "authcodes.PrintRun",
        "brands.AuditLogEntry",
        "loyalty.LoyaltyTransaction",
        "loyalty.PointsRollup",
    }


def test_names_follow_the_glossary():
    assert (BrandLevel._meta.verbose_name, BrandLevel._meta.verbose_name_plural) == ("level", "levels")
    assert BatchRange._meta.get_field("scan_limit").verbose_name == gettext_lazy("scan limit")
