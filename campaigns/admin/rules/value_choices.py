"""What the rows of a builder are offered to choose from, and what chosen values are called."""

from django.http import HttpRequest, JsonResponse

from brands.models.tenants import Brand
from campaigns.earning import choices
from core.numbers import is_id

MAX_IDS, MAX_SEARCH = 500, 80


def answer(request: HttpRequest, *, brand: Brand, name: str) -> JsonResponse:
    """Of the brand's `name`, which is one of choices.CHOICES: those with the `ids`, else those that `q` finds."""
    if "ids" in request.GET:
        ids = [int(each) for each in request.GET["ids"].split(",")[:MAX_IDS] if is_id(each)]
        result = [(str(key), text) for key, text in choices.labels_of(brand, name, ids).items()]
    else:
        result = choices.options(brand, name, request.GET.get("q", "").replace("\x00", "")[:MAX_SEARCH])
    return JsonResponse({"options": result})
