"""Panels: on a customer's page the last rows that each list has of them, with the way to all of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.module_loading import import_string
from django.utils.safestring import SafeString

from brands.identity.roles import VIEW, brand_scope
from brands.models.people import User
from brands.models.tenants import Brand

MOST = 10  # rows in a panel


@dataclass(frozen=True, slots=True)
class Line:
    """A row: when, its state, the words that lead to it, and what else to say of it."""

    when: SafeString
    state: SafeString | str
    text: str
    detail: str
    address: str


@dataclass(frozen=True, slots=True)
class Panel:
    title: str
    lines: list[Line]
    nothing: str  # what to say without any
    address: str


# What settings.CUSTOMER_PANELS names: a customer's rows at a brand.
Maker = Callable[[User, Brand], Panel]


@cache
def makers() -> dict[str, Maker]:
    return {label: import_string(path) for label, path in settings.CUSTOMER_PANELS.items()}


def of_customer(request: HttpRequest, customer: User, brand: Brand) -> Iterator[Panel]:
    """What each list that the person may see has of a customer at a brand. One query each."""
    for label, make in makers().items():
        if brand.pk in brand_scope(request.user, VIEW, label):
            yield make(customer, brand)


def address_of(row: Any) -> str:
    """Of a row's page."""
    return reverse(f"{page_of(row)}_change", args=[row.pk])


def list_of(model: Any, customer: User) -> str:
    """Where a list shows this customer's rows."""
    return f"{reverse(f'{page_of(model)}_changelist')}?{urlencode({'q': customer.email})}"


def page_of(model: Any) -> str:
    """How the addresses of its pages begin."""
    opts = model._meta  # noqa: SLF001 - Django's public API of models
    return f"admin:{opts.app_label}_{opts.model_name}"
