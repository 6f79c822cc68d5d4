"""The till without a connection: it opens and shows the last known state of a code, but hands nothing over.

The list on a device has a digest, reward and state for each code, and no personal data. A code has 75 random bits, so
it cannot be guessed from the digest; no till accepts a digest.
"""

import hashlib
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.templatetags.static import static
from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext as _

from brands.identity.roles import BrandScope
from brands.models.people import User
from brands.models.tenants import Brand
from core import json_values
from loyalty.models.rewards import Redemption
from loyalty.rewards import till
from scanpage import assets

MAX_CODES, MAX_BRANDS = 500, 10
DIGEST_LENGTH = 32  # hexadecimal digits of SHA-256; till/codes.js has the same value
NO_STORE = {"Cache-Control": "no-store"}


def answer(*, scope: BrandScope, user: User, at: datetime) -> HttpResponse:
    """The newest codes of the allowed brands. `person` identifies the user: a device drops the list of another user."""
    brands = allowed(scope)
    each = MAX_CODES // len(brands) if brands else 0
    codes = [line(row, at) for brand in brands for row in newest(brand, each)]
    body = {"is_allowed": bool(brands), "person": str(user.pk), "codes": codes}
    return JsonResponse(body, headers=NO_STORE)


def allowed(scope: BrandScope) -> list[int]:
    """The offline brands of users with few brands. An operator of all brands must choose one first."""
    if scope.everywhere or len(scope.brand_ids) > MAX_BRANDS:
        return []
    return [*Brand.objects.filter(pk__in=scope.brand_ids, till_works_offline=True).values_list("pk", flat=True)]


def newest(brand_id: int, number: int) -> Any:
    rows = Redemption.objects.filter(brand=brand_id).select_related("user_point").order_by("-id")
    return rows.only("code", "name", "status", "expires_at", "user_point__status")[:number]


def line(redemption: Redemption, at: datetime) -> list[str | None]:
    """Digest, reward, state and expiry of a code."""
    digest = hashlib.sha256(redemption.code.encode()).hexdigest()[:DIGEST_LENGTH]
    ends = json_values.iso(redemption.expires_at) if redemption.expires_at else None
    return [digest, redemption.name, till.state_of(redemption, at), ends]


def worker(request: HttpRequest) -> HttpResponse:
    """The service worker that opens the till without a connection."""
    context = {
        "here": reverse("admin:loyalty_redemption_till"),
        "empty": reverse("admin:loyalty_redemption_till_empty"),
        "assets": f"/page/assets/{assets.version()}",
        "language": get_language(),
    }
    response = render(request, "admin/loyalty/till_worker.js", context, content_type="text/javascript; charset=utf-8")
    response.headers["Cache-Control"] = "no-cache"
    response.headers["Service-Worker-Allowed"] = context["here"]
    response.headers["Content-Security-Policy"] = "default-src 'none'; connect-src 'self'"
    return response


def manifest(_request: HttpRequest) -> HttpResponse:
    """The web app manifest, with which a phone or tablet can install the till."""
    here = reverse("admin:loyalty_redemption_till")
    body = {
        "id": here,
        "name": _("Till"),
        "short_name": _("Till"),
        "description": _("Check customers' codes and hand rewards over."),
        "start_url": here,
        "scope": here,
        "display": "fullscreen",
        "background_color": "#ffffff",
        "theme_color": "#086e87",
        "icons": [
            {"src": static(f"loyalty/till/icon-{size}.png"), "sizes": f"{size}x{size}", "type": "image/png"}
            for size in (192, 512)
        ],
    }
    return JsonResponse(body, content_type="application/manifest+json", headers=NO_STORE)
