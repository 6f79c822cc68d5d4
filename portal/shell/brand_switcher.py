"""The brand switcher: users with several brands see all of them, or select one. Stored in their portal session."""

from typing import Any
from urllib.parse import urlsplit

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import Resolver404, resolve, reverse
from django.views.decorators.http import require_POST

from brands.identity import roles
from brands.identity.roles import VIEW
from brands.models.tenants import Brand
from core.numbers import is_id
from portal.base.tenant_scope import loaded_brand
from portal.shell import theme

KEY = "brand"
MAX_OFFERED = 500  # operators, who may have more, find them in the list of brands
FORMS = ("add", "change", "delete", "history")


def apply(request: HttpRequest) -> None:
    """Set the selected brand for roles.brand_scope. A selection outside the user's current brands is dropped."""
    chosen = request.session.get(KEY)
    if chosen is not None and chosen not in roles.full_scope(request.user, VIEW, "brands.brand"):
        del request.session[KEY]
        chosen = None
    request.user.chosen_brand_id = chosen  # type: ignore[union-attr] # the portal requires a login


def offered(request: HttpRequest) -> list[Brand]:
    """The brands to choose from; empty for users with only one."""
    within = roles.full_scope(request.user, VIEW, "brands.brand")
    if not within.everywhere and len(within.brand_ids) < 2:
        return []
    brands = list(within.of(Brand.objects.only("name", "logo_id", "is_sandbox", "colour_accent"), "pk")[:MAX_OFFERED])
    return brands if len(brands) > 1 else []


@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Select the submitted brand, or all of them; other users' brands are ignored."""
    choice = request.POST.get("viewed", "")
    within = roles.full_scope(request.user, VIEW, "brands.brand")
    number = int(choice) if is_id(choice) else None
    if number is not None and number in within and Brand.objects.filter(pk=number).exists():
        request.session[KEY] = number
    elif not choice:
        request.session.pop(KEY, None)
    return redirect(address_after_switch(request.POST.get("next", "")))


def address_after_switch(address: str) -> str:
    """The next page: the same list or the home page. A form leads to its list, because its row may be another brand's.

    Filters are dropped, because they may refer to another brand's rows.
    """
    try:
        match = resolve(urlsplit(address).path)
    except (Resolver404, ValueError):  # urlsplit raises the latter
        return reverse("admin:index")
    page, _, what = (match.url_name or "").rpartition("_")
    if match.namespaces == ["admin"] and page in pages() and what in {*FORMS, "changelist"}:
        return reverse(f"admin:{page}_changelist")
    return reverse("admin:index")


def pages() -> set[str]:
    return {f"{model._meta.app_label}_{model._meta.model_name}" for model in admin.site._registry}  # noqa: SLF001


def context(request: HttpRequest) -> dict[str, Any]:
    """The context of the switcher's template, and the brand whose name, logo and accent the pages show."""
    brands, chosen = offered(request), getattr(request.user, "chosen_brand_id", None)
    brand = displayed_brand(request, brands, chosen)
    return {
        "brands_offered": brands,
        "brand_chosen": chosen,
        "portal_brand": brand,
        "portal_style": theme.address(brand),
    }


def displayed_brand(request: HttpRequest, brands: list[Brand], chosen: int | None) -> Brand | None:
    """The only brand of the user, or the selected one; None while they see several."""
    if chosen is not None:
        return next((brand for brand in brands if brand.pk == chosen), None)
    within = roles.full_scope(request.user, VIEW, "brands.brand")
    if within.everywhere or len(within.brand_ids) != 1:
        return None
    [brand_id] = within.brand_ids
    if brand := loaded_brand(request, brand_id):
        return brand
    return Brand.objects.only("name", "logo_id", "is_sandbox", "colour_accent").filter(pk=brand_id).first()
