"""Answers the rows of a builder: values to choose from, and labels of chosen values."""

from django.http import HttpRequest, JsonResponse

from brands.models.tenants import Brand
from campaigns.earning import choices
from core.numbers import is_id

MAX_IDS, MAX_SEARCH = 500, 80


def answer(request: HttpRequest, *, brand: Brand, name: str) -> JsonResponse:
    """Choices for `name`, a key of choices.CHOICES: those with the `ids`, otherwise those that match `q`."""
    if "ids" in request.GET:
        ids = [int(each) for each in request.GET["ids"].split(",")[:MAX_IDS] if is_id(each)]
        result = [(str(key), text) for key, text in choices.labels_of(brand, name, ids).items()]
    else:
        result = choices.options(brand, name, request.GET.get("q", "").replace("\x00", "")[:MAX_SEARCH])
    return JsonResponse({"options": result})
