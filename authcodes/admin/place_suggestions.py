"""Suggested places for filters."""

from collections.abc import Sequence

from django.forms.widgets import Script
from django.http import HttpRequest, JsonResponse

from authcodes.places import search
from brands.models.tenants import Brand
from core.errors import DomainError

SCRIPT = Script("authcodes/place_suggestions.js", type="module")
KINDS = (search.SCANNED, *search.FETCH_PLACES_OF_CODES)


def suggestions(request: HttpRequest, brands: Sequence[Brand]) -> JsonResponse:
    """Places of these brands that contain `q`; `of` selects the kind of place."""
    typed, of = request.GET.get("q", ""), request.GET.get("of", search.SCANNED)
    if of not in KINDS:
        return JsonResponse({"message": f"of is one of {', '.join(KINDS)}."}, status=400)
    try:
        typed = search.checked(typed)
        places = search.suggested(typed, search.known(of, brands)) if typed else []
    except DomainError as error:
        return JsonResponse({"message": error.message}, status=400)
    return JsonResponse({"places": places})
