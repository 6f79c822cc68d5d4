"""Examples in the API's description. A test validates each against its schema."""

from typing import Any

from drf_spectacular.utils import OpenApiExample


def request_example(title: str, value: Any) -> OpenApiExample:
    return OpenApiExample(title, value, request_only=True)


def answer_example(title: str, value: Any) -> OpenApiExample:
    return OpenApiExample(title, value, response_only=True, status_codes=[200, 201, 202])
