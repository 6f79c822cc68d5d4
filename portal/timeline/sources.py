"""The sources of a timeline: each list's rows about the customer, and their description for people.

settings.CUSTOMER_TIMELINE names the sources, in the order of the page's chips. A source's rows are those of a list:
users who may not see the list see none of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.module_loading import import_string
from django.utils.safestring import SafeString

from brands.identity.roles import VIEW, brand_scope
from brands.models.tenants import Brand
from portal.base.links import admin_address


@dataclass(frozen=True, slots=True)
class Subject:
    """The customer of the timeline and the current user. Includes accounts and users merged into them."""

    request: HttpRequest
    brand: Brand
    accounts: Sequence[int]
    users: Sequence[int]


@dataclass(slots=True)
class TimelineItem:
    """A row as the page shows it. `change`: of the balance, for ledger entries; `merge_key`: lines with the same key
    are merged into one."""

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


# Gets the ids of a source's rows on a page, and returns a line for each that still exists.
Describe = Callable[[Subject, Sequence[str]], Mapping[str, TimelineItem]]


@dataclass(frozen=True, slots=True)
class TimelineSource:
    """`name` identifies its rows in the statement and in the page's address; `branch` is the SQL that finds them;
    `label` is their list.
    """

    name: str
    title: Any
    label: str
    branch: str
    describe: Describe


@cache
def sources() -> dict[str, TimelineSource]:
    listed = [import_string(path) for path in settings.CUSTOMER_TIMELINE]
    return {source.name: source for source in listed}


def visible_to(user: Any, brand: Brand) -> Iterator[TimelineSource]:
    """The sources whose lists the user may see at this brand."""
    for source in sources().values():
        if brand.pk in brand_scope(user, VIEW, source.label):
            yield source


def address_of(row: Any) -> str:
    """The address of a row's page."""
    opts = row._meta
    return admin_address(opts.label_lower, "change", row.pk)
