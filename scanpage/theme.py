"""The appearance of a brand's page: its colours as a style sheet, its icons, and what a phone needs to install it."""

import hashlib
import io
import json
from functools import lru_cache

from django.http import Http404, HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from PIL import Image, ImageDraw, ImageFont

from brands.models.tenants import Brand, Picture
from brands.tenants.hostnames import brand_of
from brands.tenants.picture_view import FOR_EVER
from core import colours
from scanpage import assets

ICON_SIZES = {32, 180, 192, 512}
USE = 3  # how the colours are used; increase it with every change, so that browsers request the style sheet again
MAX_DARK = 0.18  # a background up to this luminance counts as dark
NIGHT, NIGHT_TEXT, SHARE_OF_CARD = "#12161c", "#f3f4f6", 0.04


def version(brand: Brand) -> str:
    """Changes with the brand's colours and logo, and with their use."""
    parts = (USE, brand.colour_background, brand.colour_text, brand.colour_accent, brand.logo_id, brand.name)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


def style(brand: Brand) -> str:
    """The brand's colours and derived ones as custom properties, with a darker set for dark mode."""
    background, text, accent = brand.colour_background, brand.colour_text, brand.colour_accent
    readable = accent if colours.contrast(accent, background) >= colours.READABLE else text
    is_dark = colours.luminance(background) < MAX_DARK
    day = palette(background, text, accent, readable, "dark" if is_dark else "light")
    return day if is_dark else day + "@media(prefers-color-scheme:dark){" + dark_palette(brand) + "}"


def dark_palette(brand: Brand) -> str:
    """A dark background with a hint of the brand's accent, which is lightened until it is readable there."""
    background = colours.mixed(NIGHT, brand.colour_accent, 0.06)
    card = colours.mixed(background, NIGHT_TEXT, SHARE_OF_CARD)
    accent = colours.corrected(brand.colour_accent, grounds=[card], least=colours.VISIBLE)
    link = colours.corrected(accent, grounds=[card], least=colours.READABLE)
    return palette(background, NIGHT_TEXT, accent, link, "dark", brand)


def palette(background: str, text: str, accent: str, link: str, scheme: str, logo_of: Brand | None = None) -> str:
    """`logo_of`: whose logo was drawn for another background, and keeps that background."""
    named = {
        "background": background,
        "text": text,
        "accent": accent,
        "on-accent": colours.on(accent),
        "link": link,
        "card": colours.mixed(background, text, SHARE_OF_CARD),
        "line": colours.mixed(background, text, 0.55),
        "logo": logo_of.colour_background if logo_of else "transparent",
    }
    return ":root{color-scheme:" + scheme + ";" + ";".join(f"--{name}:{value}" for name, value in named.items()) + "}"


@require_safe
def style_sheet(request: HttpRequest) -> HttpResponse:
    """Also served at an address without a brand: the portal's own has a page for customers."""
    brand = brand_of(request) or Brand()
    return HttpResponse(style(brand), content_type="text/css; charset=utf-8", headers=cache_headers(request, brand))


@require_safe
def icon(request: HttpRequest, size: int) -> HttpResponse:
    brand = known_brand(request)
    if size not in ICON_SIZES:
        raise Http404
    logo = str(brand.logo_id) if brand.logo_id else ""
    content = draw_icon(logo, brand.name[:1].upper(), brand.colour_background, brand.colour_accent, size)
    return HttpResponse(content, content_type="image/png", headers=cache_headers(request, brand))


@lru_cache(maxsize=256)
def draw_icon(logo: str, letter: str, background: str, accent: str, size: int) -> bytes:
    """The logo centred on the background, or the brand's first letter on its accent."""
    picture = Picture.objects.filter(pk=logo).first() if logo else None
    image = Image.new("RGB", (size, size), background if picture else accent)
    if picture:
        mark = Image.open(io.BytesIO(bytes(picture.content)), formats=["PNG"]).convert("RGBA")
        mark.thumbnail((size * 7 // 10, size * 7 // 10), Image.Resampling.LANCZOS)
        image.paste(mark, ((size - mark.width) // 2, (size - mark.height) // 2), mark)
    else:
        font = ImageFont.load_default(size // 2)
        middle = (size / 2, size / 2)
        ImageDraw.Draw(image).text(middle, letter, fill=colours.on(accent), font=font, anchor="mm")
    content = io.BytesIO()
    image.save(content, "PNG", optimize=True)
    return content.getvalue()


@require_safe
def manifest(request: HttpRequest) -> HttpResponse:
    """The web app manifest, with which a phone offers to install the page like an app."""
    brand = known_brand(request)
    icons = [
        {"src": f"/page/icon-{size}.png?v={version(brand)}", "sizes": f"{size}x{size}", "type": "image/png"}
        for size in (192, 512)
    ]
    content = {
        "id": "/s/",
        "name": brand.name,
        "short_name": brand.name[:12],
        "description": _("Find out whether a product is genuine, and collect points."),
        "start_url": "/s/",
        "scope": "/",
        "display": "standalone",
        "background_color": brand.colour_background,
        "theme_color": brand.colour_accent,
        "icons": icons,
    }
    return HttpResponse(
        json.dumps(content), content_type="application/manifest+json", headers={"Cache-Control": "no-cache"}
    )


@require_safe
def service_worker(request: HttpRequest) -> HttpResponse:
    """The script for offline use; it changes with every file that it caches."""
    brand = known_brand(request)
    head = f'const VERSION = "{assets.version()}-{version(brand)}", ASSETS = "{assets.version()}";\n'
    content = head + assets.files()["service_worker.js"].read_text()
    headers = {"Cache-Control": "no-cache", "Content-Security-Policy": "default-src 'none'; connect-src 'self'"}
    return HttpResponse(content, content_type="text/javascript; charset=utf-8", headers=headers)


def known_brand(request: HttpRequest) -> Brand:
    brand = brand_of(request)
    if brand is None:
        raise Http404
    return brand


def cache_headers(request: HttpRequest, brand: Brand) -> dict[str, str]:
    """Cache forever if the address has the current version of the brand's appearance."""
    return {"Cache-Control": FOR_EVER if request.GET.get("v") == version(brand) else "no-cache"}
