"""What a timeline is put together from: of each list its rows of the customer, and how people read one.

settings.CUSTOMER_TIMELINE names the sources, in the order of the page's chips. A source's rows are those of a list:
who may not see the list sees none of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import reverse
from django.utils.module_loading import import_string
from django.utils.safestring import SafeString

from brands.identity.roles import VIEW, brand_scope
from brands.models.tenants import Brand


@dataclass(frozen=True, slots=True)
class Subject:
    """Whose timeline it is, and who looks: a brand's customer with the accounts and users that were merged into one."""

    request: HttpRequest
    brand: Brand
    accounts: Sequence[int]
    users: Sequence[int]


@dataclass(slots=True)
class Line:
    """A row as the page shows it. `change`: of the balance, for ledger entries; `merge_key`: what it has in common with
    another line, so that both become one."""

    when: SafeString
    icon: str
    title: str
    address: str = ""
    state: SafeString | str = ""
    details: list[str] = field(default_factory=list)
    change: Decimal | None = None
    points: str = ""
    balance: str = ""
    merge_key: str = ""


# Gets the ids of a source's rows on a page, and returns a line for each that is still there.
Describe = Callable[[Subject, Sequence[str]], Mapping[str, Line]]


@dataclass(frozen=True, slots=True)
class Source:
    """`name` is what its rows are called in the statement, and in the page's address; `branch` the text that finds
    them; `label` the list that they are on.
    """

    name: str
    title: Any
    label: str
    branch: str
    describe: Describe


@cache
def sources() -> dict[str, Source]:
    listed = [import_string(path) for path in settings.CUSTOMER_TIMELINE]
    return {source.name: source for source in listed}


def visible_to(user: Any, brand: Brand) -> Iterator[Source]:
    """Those whose lists the person sees of this brand."""
    for source in sources().values():
        if brand.pk in brand_scope(user, VIEW, source.label):
            yield source


def address_of(row: Any) -> str:
    """Of a row's page."""
    opts = row._meta  # noqa: SLF001 - Django's public API of models
    return reverse(f"admin:{opts.app_label}_{opts.model_name}_change", args=[row.pk])
