"""A preview of the batch that a form would create, shown while the form is being filled in; errors are the form's."""

from typing import Any

from django.urls import reverse
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from authcodes.admin.batches.forms import NewBatchForm
from authcodes.codes.batches import BatchSettings
from authcodes.codes.prefixes import is_reserved
from authcodes.models.batches import BatchRange
from brands.identity.roles import CHANGE, full_scope
from brands.models.people import User
from brands.models.tenants import Brand
from brands.scanned import TAG_SEPARATOR
from brands.tenants.hostnames import hostname_of, scan_address
from core.numbers import grouped
from loyalty.models.levels import BrandLevel
from portal.lists.number_columns import format_points


def summary_of(form: NewBatchForm, user: User) -> dict[str, Any]:
    """Context of the summary template: the preview, errors, and missing fields. Advice has links for this user."""
    form.is_valid()
    wrong, missing = [], []
    # Errors about the protection come last.
    for name, errors in sorted(form.errors.as_data().items(), key=lambda each: each[0] == "signed"):
        label = form.fields[name].label if name in form.fields else _("All settings")
        # An empty required field counts as missing, not as wrong.
        if not form.data.get(name) and name in form.fields and form.fields[name].required:
            missing.append(label)
        else:
            wrong += [(label, message) for error in errors for message in error.messages]
    context = None
    if form.valid_settings:
        brand, signed = form.cleaned_data["brand"], form.cleaned_data.get("signed")
        context = summary_context(brand, form.valid_settings, is_protection_chosen=signed is not None)
        if signed is False:
            context |= {"warning": _("Anyone can guess the next code."), **_advice(brand, user)}
    return {"preview": context, "product": form.cleaned_data.get("product"), "wrong": wrong, "missing": missing}


def _advice(brand: Brand, user: User) -> dict[str, str]:
    """Advice for plain codes that makes guessing harder, linked if the user may change the setting."""
    if brand.requires_confirmed_email:
        return {}
    may_change = brand.pk in full_scope(user, CHANGE, "brands.brand")
    page = f"{reverse('admin:brands_brand_change', args=[brand.pk])}#id_requires_confirmed_email"
    return {
        "advice": _("Require confirmed e-mail addresses, so that throwaway accounts earn no points."),
        "advice_address": page if may_change else "",
    }


def summary_context(brand: Brand, batch_settings: BatchSettings, *, is_protection_chosen: bool) -> dict[str, Any]:
    """The first and last code, what is printed, and the rules of the codes.

    Omits what depends on the protection until one is chosen.
    """
    first, last = batch_settings.numbering.first_code, batch_settings.numbering.last_code
    host = hostname_of(brand.pk)
    printed = f"{first}{TAG_SEPARATOR}…" if batch_settings.signed else first
    shows_tag = is_protection_chosen and batch_settings.signed
    lines = [*lines_of(brand, batch_settings, shows_tag=shows_tag), *_limits(brand, batch_settings)]
    return {
        "first": first,
        "last": last,
        "quantity": grouped(batch_settings.quantity),
        "printed": (scan_address(host, printed) if host else printed) if is_protection_chosen else "",
        "lines": [line for line in lines if line],
    }


def lines_of(brand: Brand, batch_settings: BatchSettings, *, shows_tag: bool) -> list[str]:
    """Assignment and scan rules, one sentence each."""
    product, day = batch_settings.product, batch_settings.expiration_date
    return [
        _("All codes are assigned to %(product)s.") % {"product": product}
        if product
        else _("No product is assigned. Until you assign one, the codes scan as not valid."),
        _points(brand, batch_settings),
        _("Each code can be scanned any number of times.")
        if batch_settings.scan_limit is None
        else ngettext(
            "Each code can be scanned once.", "Each code can be scanned %(limit)d times.", batch_settings.scan_limit
        )
        % {"limit": batch_settings.scan_limit},
        _("The codes are valid to the end of %(day)s.") % {"day": date_format(day)} if day else "",
        *_campaign_lines(batch_settings),
        _("Each code is printed with its own secret tag and does not scan without it.") if shows_tag else "",
    ]


def _campaign_lines(batch_settings: BatchSettings) -> list[str]:
    if batch_settings.campaign is None:
        return []
    counted = _("Scans count for the campaign %(campaign)s.") % {"campaign": batch_settings.campaign}
    return [counted, after_campaign_text(batch_settings.after_campaign)]


def after_campaign_text(choice: str) -> str:
    """A sentence: what scans earn while the campaign is not running."""
    if choice == BatchRange.AfterCampaign.NOTHING:
        return _("While the campaign is not running, scans earn nothing.")
    return _("While the campaign is not running, scans earn their usual points.")


def _points(brand: Brand, batch_settings: BatchSettings) -> str:
    """Empty falls back to the product; 0, or empty there too, to the customer's level, then to the default."""
    if own := batch_settings.own_points:
        return ngettext("A scan earns %(points)d point.", "A scan earns %(points)d points.", own) % {"points": own}
    if BrandLevel.objects.filter(brand=brand).exists():
        return _("A scan earns the points of the customer's level.")
    return _("A scan earns 1 point: this brand has no levels, and neither the batch nor its product sets points.")


def _limits(brand: Brand, batch_settings: BatchSettings) -> list[str]:
    """The maximum cost, what needs a second approval, and which prefix would be reserved."""
    total = batch_settings.quantity * batch_settings.own_points * (batch_settings.scan_limit or 0)
    ceiling = grouped(brand.max_points_per_scan)
    own = is_reserved(brand=brand, prefix=batch_settings.prefix)
    above = (batch_settings.points_per_scan or 0) > brand.max_points_per_scan
    return [
        _("Maximum if every code is scanned as often as allowed: %(points)s.") % {"points": format_points(total)}
        if total
        else "",
        _("Above the ceiling of %(most)s points. Until a second manager or owner approves it, a scan earns %(most)s.")
        % {"most": ceiling}
        if above
        else "",
        "" if own else _("The prefix is new. Saving reserves it for this brand, if it is free."),
    ]
