"""The brand switcher: people with several brands look at all of them, or at one. Kept in their portal session."""

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
MAX_OFFERED = 500  # more, which only an operator has, are found in the list of brands
FORMS = ("add", "change", "delete", "history")


def apply(request: HttpRequest) -> None:
    """Let roles.brand_scope know what was chosen. What has since become somebody else's brand is no choice any more."""
    chosen = request.session.get(KEY)
    if chosen is not None and chosen not in roles.full_scope(request.user, VIEW, "brands.brand"):
        del request.session[KEY]
        chosen = None
    request.user.chosen_brand_id = chosen  # type: ignore[union-attr] # the portal asks for a login first


def offered(request: HttpRequest) -> list[Brand]:
    """The brands to choose from; none for who has but one."""
    within = roles.full_scope(request.user, VIEW, "brands.brand")
    if not within.everywhere and len(within.brand_ids) < 2:
        return []
    brands = list(within.of(Brand.objects.only("name", "logo_id", "is_sandbox", "colour_accent"), "pk")[:MAX_OFFERED])
    return brands if len(brands) > 1 else []


@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Look at the brand that was sent, or at all of them; nobody else's brand is taken."""
    choice = request.POST.get("viewed", "")
    within = roles.full_scope(request.user, VIEW, "brands.brand")
    number = int(choice) if is_id(choice) else None
    if number is not None and number in within and Brand.objects.filter(pk=number).exists():
        request.session[KEY] = number
    elif not choice:
        request.session.pop(KEY, None)
    return redirect(address_after_switch(request.POST.get("next", "")))


def address_after_switch(address: str) -> str:
    """Where to go on: the same list or the front page, from a form its list, for its row may be another brand's.

    Filters are left behind, which may name another brand's rows.
    """
    try:
        match = resolve(urlsplit(address).path)
    except Resolver404:
        return reverse("admin:index")
    page, _, what = (match.url_name or "").rpartition("_")
    if match.namespaces == ["admin"] and page in pages() and what in {*FORMS, "changelist"}:
        return reverse(f"admin:{page}_changelist")
    return reverse("admin:index")


def pages() -> set[str]:
    return {f"{model._meta.app_label}_{model._meta.model_name}" for model in admin.site._registry}  # noqa: SLF001


def context(request: HttpRequest) -> dict[str, Any]:
    """What the switcher's template shows, and the brand whose name, logo and accent the pages bear."""
    brands, chosen = offered(request), getattr(request.user, "chosen_brand_id", None)
    brand = displayed_brand(request, brands, chosen)
    return {
        "brands_offered": brands,
        "brand_chosen": chosen,
        "portal_brand": brand,
        "portal_style": theme.address(brand),
    }


def displayed_brand(request: HttpRequest, brands: list[Brand], chosen: int | None) -> Brand | None:
    """The only brand that somebody works for, or the one that they chose; None while they look at several."""
    if chosen is not None:
        return next((brand for brand in brands if brand.pk == chosen), None)
    within = roles.full_scope(request.user, VIEW, "brands.brand")
    if within.everywhere or len(within.brand_ids) != 1:
        return None
    [brand_id] = within.brand_ids
    if brand := loaded_brand(request, brand_id):
        return brand
    return Brand.objects.only("name", "logo_id", "is_sandbox", "colour_accent").filter(pk=brand_id).first()
