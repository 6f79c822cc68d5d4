"""The brand of a new row, if a form has the field, and the time zone in which the form's moments are read."""

from datetime import UTC, tzinfo
from typing import Any

from django import forms
from django.contrib.admin.utils import unquote
from django.http import HttpRequest

from brands.identity.roles import ADD, VIEW

# Replaces django-unfold's template: its label says "the brand's time zone", which depends on the brand in the form.
MOMENT_OF_CHOSEN_BRAND = "admin/portal/moment_of_chosen_brand.html"


def only_brand(page: Any, request: HttpRequest) -> int | None:
    """The id of the only brand for which the user can create a row; None if there is a choice."""
    brand_ids = page.brand_scope(request, ADD).brand_ids
    return next(iter(brand_ids)) if len(brand_ids) == 1 else None


def zones_of(page: Any, request: HttpRequest, verb: str) -> dict[str, tzinfo]:
    """The time zones of the brands where the user may do this, by brand id."""
    within = page.brand_scope(request, verb)
    return {str(brand.pk): brand.zone for brand in page.brands_seen(request) if brand.pk in within}


def brand_in_form(request: HttpRequest) -> str:
    """The id of the brand that is selected for a new row, or preset in the form; empty if there is none."""
    return request.POST.get("brand", request.GET.get("brand", ""))


def zone_of_form(page: Any, request: HttpRequest, object_id: str | None) -> tzinfo:
    """The zone of the row's brand, or of the brand selected for a new row; UTC while that is unknown."""
    zones = zones_of(page, request, VIEW if object_id else ADD)
    if len(set(zones.values())) == 1:
        return next(iter(zones.values()))
    row = page.get_object(request, unquote(object_id)) if object_id else None
    return zones.get(str(page.brand_id_of(row) if row else brand_in_form(request)), UTC)


def leave_zone_to_brand(page: Any, request: HttpRequest, form: forms.BaseForm) -> None:
    """Make the form of a new row say that its moments are in the zone of the selected brand.

    While no brand is selected it presets no moment, which would differ by zone.
    """
    zones = zones_of(page, request, ADD)
    if "brand" not in form.fields or len(set(zones.values())) < 2:
        return
    for field in form.fields.values():
        if isinstance(field, forms.SplitDateTimeField):
            field.widget.template_name = MOMENT_OF_CHOSEN_BRAND
            if brand_in_form(request) not in zones:
                field.initial = None
