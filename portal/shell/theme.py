"""The portal's colours: the product's own, and those derived from the accent of the selected brand.

django-unfold's classes name them by weight. In its templates, on light pages 600 is text and the background of white
text; on dark ones 500 is text and 600 the background. Text has a contrast of 4.5 to 1, other parts of 3.
"""

import hashlib
from collections.abc import Mapping

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse

from brands.identity import roles
from brands.identity.roles import VIEW
from brands.models.tenants import Brand
from core import colours

Shades = Mapping[str, str]

WHITE, BLACK = "#ffffff", "#000000"
BASE: Shades = {
    "50": "#f8fafc",
    "100": "#f2f5f6",
    "200": "#e3e8eb",
    "300": "#ced6db",
    "400": "#97a5af",
    "500": "#5e6f79",
    "600": "#455762",
    "700": "#31434e",
    "800": "#1a2b34",
    "900": "#0c1a23",
    "950": "#01080f",
}
PRIMARY: Shades = {
    "50": "#edf9fe",
    "100": "#d8f2fb",
    "200": "#b5e5f7",
    "300": "#84d1ec",
    "400": "#4eb8da",
    "500": "#229dbf",
    "600": "#086e87",
    "700": "#04576c",
    "800": "#074656",
    "900": "#0a3744",
    "950": "#04232d",
}
FIELD: Shades = {"light": "#84939d", "dark": "#667883"}  # borders of inputs, on a light and on a dark page
LIGHT_GROUNDS = (WHITE, BASE["50"], BASE["100"])
DARK_GROUNDS = (BASE["800"], BASE["900"])
# The version of how colours are used; a new number makes browsers request the style sheet again.
STYLE_VERSION = 1


def base(_request: HttpRequest) -> dict[str, str]:
    """Called by settings.UNFOLD["COLORS"]."""
    return dict(BASE)


def primary(_request: HttpRequest) -> dict[str, str]:
    """Called by settings.UNFOLD["COLORS"]."""
    return dict(PRIMARY)


def field(_request: HttpRequest) -> dict[str, str]:
    """Called by settings.UNFOLD["COLORS"]."""
    return dict(FIELD)


def on_light(accent: str) -> Shades:
    """The brand's accent if it is readable on light pages and under white text, else darkened until it is."""
    readable = colours.corrected(accent, grounds=[*LIGHT_GROUNDS, tint(accent)], least=colours.READABLE)
    return {
        "50": colours.mixed(readable, WHITE, 0.95),
        "100": tint(readable),
        "200": colours.mixed(readable, WHITE, 0.75),
        "300": colours.mixed(readable, WHITE, 0.55),
        "400": colours.mixed(readable, WHITE, 0.35),
        "500": colours.corrected(accent, grounds=(WHITE, BASE["50"]), least=colours.VISIBLE),
        "600": readable,
        "700": colours.mixed(readable, BLACK, 0.15),
        "800": colours.mixed(readable, BLACK, 0.3),
        "900": colours.mixed(readable, BLACK, 0.45),
        "950": colours.mixed(readable, BLACK, 0.6),
    }


def on_dark(accent: str) -> Shades:
    """For dark pages: 500 and 400 must be readable there, and 600 must be visible and readable under white text."""
    ground = colours.corrected(accent, grounds=[WHITE], least=colours.READABLE)
    ground = colours.corrected(ground, grounds=[BASE["900"]], least=colours.VISIBLE)
    text = colours.corrected(accent, grounds=DARK_GROUNDS, least=colours.READABLE)
    return {
        "300": colours.mixed(text, WHITE, 0.45),
        "400": colours.mixed(text, WHITE, 0.25),
        "500": text,
        "600": ground,
        "700": colours.mixed(ground, BLACK, 0.15),
    }


def tint(colour: str) -> str:
    """The light background for text in the same colour."""
    return colours.mixed(colour, WHITE, 0.88)


def style(accent: str) -> str:
    """A style sheet that replaces the product's colours."""
    return f"html:root{{{to_css(on_light(accent))}}}html.dark{{{to_css(on_dark(accent))}}}"


def to_css(shades: Shades) -> str:
    return ";".join(f"--color-primary-{weight}:{value}" for weight, value in shades.items())


def address(brand: Brand | None) -> str:
    """The address of the style sheet of the page's brand; empty for the product's colours."""
    if brand is None or not has_own_accent(brand):
        return ""
    digest = hashlib.sha256(f"{STYLE_VERSION} {brand.colour_accent}".encode()).hexdigest()[:12]
    return reverse("admin:brand_style", args=[brand.pk, digest])


def has_own_accent(brand: Brand) -> bool:
    """Whether the brand has a custom accent; otherwise it has the product's colours."""
    default: str = Brand._meta.get_field("colour_accent").default
    return brand.colour_accent != default


def style_sheet(request: HttpRequest, pk: int, slug: str) -> HttpResponse:  # noqa: ARG001 - each style has its own address
    """The style sheet of a brand that the user may see."""
    brand = Brand.objects.only("colour_accent").filter(pk=pk).first()
    if brand is None or pk not in roles.full_scope(request.user, VIEW, "brands.brand"):
        raise Http404
    headers = {"Cache-Control": "private, max-age=31536000, immutable"}
    return HttpResponse(style(brand.colour_accent), content_type="text/css; charset=utf-8", headers=headers)
