"""The whole service over HTTP: two brands, web, worker and beat as real processes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from django.conf import settings
from django.utils import timezone

from brands.identity import api_keys, tokens
from brands.models.credentials import ApiKey
from brands.models.people import User
from brands.models.tenants import Brand
from events.models import Event
from tests.support import factories
from tests.support.live_stack import Stack, wait_until


@pytest.fixture(scope="package")  # its worker would deliver the events of other tests
def stack(django_db_setup: None, django_db_blocker: Any, tmp_path_factory: Any) -> Iterator[Stack]:
    # The guide's customers cannot read e-mails. Brands have names under localhost, as with bin/run.
    stack_settings = {"REGISTRATION_CONFIRMS_EMAIL": "0", "ALLOWED_HOSTS": "localhost,.localhost,127.0.0.1"}
    running = Stack(log=tmp_path_factory.mktemp("stack") / "log", redis_url=settings.REDIS_URL, settings=stack_settings)
    with django_db_blocker.unblock():
        try:
            running.start_web()
            running.start_worker()
            yield running
        finally:
            running.stop()


@dataclass
class AppCustomer:
    """A customer who uses the brand's app."""

    user: User
    brand: Brand
    http: httpx.Client
    app_key: str
    origin: str

    def headers(self) -> dict[str, str]:
        access = tokens.issue(user=self.user, brand=self.brand, at=timezone.now()).access
        return {"authorization": f"Bearer {access}"}

    def verify(self, code: Any, **body: Any) -> httpx.Response:
        return self.http.post(f"/api/v1/verify/product/{code}", json=body, headers=self.headers())

    def claim(self, code: Any, **headers: str) -> httpx.Response:
        body = {
            "user_id": self.user.pk,
            "brand_id": self.brand.pk,
            "type": "authenticator_scan",
            "product": {"authCode": str(code)},
        }
        all_headers = {**self.headers(), "api-key": self.app_key, "origin": self.origin, **headers}
        return self.http.post("/api/v1/brand/loyalty/campaign/event", json=body, headers=all_headers)

    def points(self) -> Any:
        return self.http.get("/api/v1/customer/loyalty/points", headers=self.headers()).json()["data"]

    def transactions(self) -> Any:
        return self.http.get("/api/v1/customer/loyalty/transactions", headers=self.headers()).json()["data"]


@pytest.fixture
def brand(transactional_db: None) -> Brand:
    made = factories.brand()
    factories.level(made, "Bronze", 0, value=10)
    factories.level(made, "Silver", 25, value=20)
    return made


@pytest.fixture
def make_customer(stack: Stack, brand: Brand) -> Iterator[Callable[..., AppCustomer]]:
    """Makes customers of the brand."""
    _key, text = api_keys.create(brand=brand, kind=ApiKey.Kind.APP, name="app", at=timezone.now())
    origin = brand.hostnames.get().hostname
    with httpx.Client(base_url=stack.url, timeout=20) as http:

        def make(user: User | None = None, **fields: Any) -> AppCustomer:
            return AppCustomer(user or factories.customer(brand, **fields), brand, http, text, f"https://{origin}")

        yield make


@pytest.fixture
def wait_for_events() -> Callable[[], None]:
    """Waits until no event is pending."""

    def wait() -> None:
        wait_until(lambda: not Event.objects.pending().exists())

    return wait
