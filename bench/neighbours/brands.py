"""Two brands of an installation: A attacks, and B works as usual; and how either calls it."""

import http.client
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any

from django.conf import settings
from django.test import Client
from django.utils import timezone

from bench import site
from brands.identity import api_keys, tokens
from brands.models.people import StaffRole, User
from brands.models.tenants import Brand
from tests.support import factories

numbers = count(1)


@dataclass(frozen=True, slots=True)
class Lengths:
    """Seconds of a round, before it, after it, and after one of the control; B's codes; A's jobs and codes in each.

    Rows of a heavy page; earlier visits of B's staff, so that each web process knows their session; B's buyers.
    """

    round: float
    before: float
    after: float
    after_control: float
    codes: int
    jobs: int
    of_a_job: int
    heavy_rows: int = 12_000_000
    visits: int = 10
    buyers: int = 50


@dataclass
class Brands:
    """A, which attacks, and B, which works as usual."""

    a: Brand
    b: Brand
    hub: str
    token: str
    customer: User
    staff_a: list[str]
    staff_b: str
    codes: Iterator[str]
    tokens_b: list[str]
    lengths: Lengths


def session_of(brand: Brand) -> str:
    """The session of a manager of the brand who has just logged in."""
    manager = factories.user(is_staff=True)
    StaffRole.objects.create(user=manager, brand=brand, role=StaffRole.Role.MANAGER)
    browser = Client()
    browser.force_login(manager)
    return str(browser.cookies[settings.SESSION_COOKIE_NAME].value)


def brands(lengths: Lengths) -> Brands:
    a, b = (
        factories.brand(slug=f"{name}-{next(numbers)}", hostname=f"{name}{next(numbers)}.example.com") for name in "ab"
    )
    for brand in (a, b):
        factories.level(brand)
    batch = factories.batch(b, quantity=lengths.codes, prefix=f"N{next(numbers)}-", number_width=8)
    customer = factories.customer(a)
    _key, hub = api_keys.create(brand=a, kind="hub", name="bench", at=timezone.now(), scopes=["events"])
    buyers = [factories.customer(b) for _ in range(lengths.buyers)]
    return Brands(
        a=a,
        b=b,
        hub=hub,
        token=tokens.issue(user=customer, brand=a, at=timezone.now()).access,
        customer=customer,
        staff_a=[session_of(a) for _ in range(4)],
        staff_b=session_of(b),
        codes=iter(batch.codes.values_list("code", flat=True)),
        tokens_b=[tokens.issue(user=buyer, brand=b, at=timezone.now()).access for buyer in buyers],
        lengths=lengths,
    )


def ask(method: str, path: str, body: Any = None, *, seconds: float = 30, **headers: str) -> tuple[int, bytes]:
    """The answer's status and body; status 0 after a timeout."""
    line = http.client.HTTPConnection("127.0.0.1", site.PORT, timeout=seconds)
    try:
        content = json.dumps(body).encode() if body is not None else None
        content_headers = {"Content-Type": "application/json"} if content else {}
        line.request(
            method, path, content, content_headers | {name.replace("_", "-"): text for name, text in headers.items()}
        )
        answer = line.getresponse()
        return answer.status, answer.read()
    except (OSError, http.client.HTTPException):
        return 0, b""
    finally:
        line.close()
