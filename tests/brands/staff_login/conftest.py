"""Fixtures for the sign-in pages: no rate limits but those of a test, a logged-out browser, a provider."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from brands.models.people import User
from brands.models.tenants import Brand
from brands.staff_login.models import SignInSettings
from core.redis import client
from tests.brands.staff_login.provider import CLIENT_ID, SECRET, Provider, running
from tests.support import factories
from tests.support.portal import staff


@pytest.fixture(autouse=True)
def no_rate_limits(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "outage", client.OutageState())  # an outage that one test causes ends with it
    redis = client.client()
    for name in ("second_factor", "staff_mail"):  # of an earlier run, whose users had the same ids and addresses
        for key in redis.scan_iter(f"*{name}*"):
            redis.delete(key)
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, "1000000/second")
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = False


@pytest.fixture
def colleague(brand: Brand) -> User:
    return staff(brand, role="printer", email="colleague@example.com", password=factories.PASSWORD)


@pytest.fixture
def web_client() -> Client:
    """A browser without a login."""
    return Client(HTTP_USER_AGENT="Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0 Safari/537.36")


@pytest.fixture
def provider(brand: Brand, colleague: User, settings: Any) -> Iterator[Provider]:
    settings.OUTGOING_PRIVATE_NETWORKS = ["127.0.0.0/8"]
    with running() as provider:
        provider.email = colleague.email
        SignInSettings.objects.create(
            brand=brand,
            oidc_active=True,
            oidc_issuer=provider.url,
            oidc_client_id=CLIENT_ID,
            oidc_client_secret=SECRET,
        )
        yield provider
