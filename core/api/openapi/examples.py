"""Examples in the API's description. A test validates each against its schema."""

from typing import Any

from drf_spectacular.utils import OpenApiExample

from core.api.openapi.shared_examples import LAST_PAGE


def request_example(title: str, value: Any) -> OpenApiExample:
    return OpenApiExample(title, value, request_only=True)


def answer_example(title: str, value: Any) -> OpenApiExample:
    return OpenApiExample(title, value, response_only=True, status_codes=[200, 201, 202])


def data_example(title: str, data: Any) -> OpenApiExample:
    """An answer of `data_output` or `row_output`."""
    return answer_example(title, {"success": True, "data": data})


def page_example(*rows: Any) -> OpenApiExample:
    """An answer of a list that has no more rows than these."""
    return answer_example("The only page", {"success": True, "data": list(rows), "pagination": LAST_PAGE})
