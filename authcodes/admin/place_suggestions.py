"""The places that filters offer while somebody types."""

from collections.abc import Sequence

from django.http import HttpRequest, JsonResponse

from authcodes import place_search
from brands.models import Brand
from brands.refusals import Refused

SCRIPT = "authcodes/place_suggestions.js"
KINDS = (place_search.SCANNED, *place_search.OF_CODES)


def suggestions(request: HttpRequest, brands: Sequence[Brand]) -> JsonResponse:
    """Places of these brands that have `q` as a part; `of` names the kind of place."""
    typed, of = request.GET.get("q", ""), request.GET.get("of", place_search.SCANNED)
    if of not in KINDS:
        return JsonResponse({"message": f"of is one of {', '.join(KINDS)}."}, status=400)
    try:
        typed = place_search.checked(typed)
        places = place_search.suggested(typed, place_search.known(of, brands)) if typed else []
    except Refused as refusal:
        return JsonResponse({"message": refusal.message}, status=400)
    return JsonResponse({"places": places})
