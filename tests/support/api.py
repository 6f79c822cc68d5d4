"""Calls the API as different callers do; every answer is checked against the API's description."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from brands.identity import api_keys, tokens
from brands.models.credentials import ApiKey
from brands.models.people import User
from brands.models.tenants import Brand
from tests.support import openapi

PREFIX = "/api/v1/"


def random_address() -> str:
    """An address that no other test calls from, so that rate limits do not count over several tests and runs."""
    return f"fd00:{':'.join(f'{secrets.randbits(16):x}' for _ in range(3))}::1"


@dataclass(frozen=True)
class Api:
    """A caller with its headers and its address. The methods that add something return another caller."""

    brand: Brand
    headers: Mapping[str, str] = field(default_factory=dict)
    address: str = field(default_factory=random_address)

    def guest(self) -> Self:
        return replace(self, headers={})

    def with_headers(self, **headers: str) -> Self:
        """With more headers; `_` in a name stands for `-`."""
        more = {name.replace("_", "-").lower(): value for name, value in headers.items()}
        return replace(self, headers={**self.headers, **more})

    def without(self, header: str) -> Self:
        return replace(self, headers={name: value for name, value in self.headers.items() if name != header})

    def as_customer(self, user: User, *, brand: Brand | None = None) -> Self:
        """With an access token of `user` at the brand, or at another one."""
        pair = tokens.issue(user=user, brand=brand or self.brand, at=timezone.now())
        return self.with_headers(authorization=f"Bearer {pair.access}")

    def hub(self, *, brand: Brand | None = None) -> Self:
        """With a new hub key of the brand, and its hostname as the origin."""
        return self._with_new_key(ApiKey.Kind.HUB, brand or self.brand)

    def app(self, *, brand: Brand | None = None) -> Self:
        """With a new app key of the brand, and its hostname as the origin."""
        return self._with_new_key(ApiKey.Kind.APP, brand or self.brand)

    def _with_new_key(self, kind: ApiKey.Kind, brand: Brand) -> Self:
        now = timezone.now()
        for older in ApiKey.objects.filter(brand=brand, kind=kind, name="tests")[1:]:
            api_keys.revoke(key=older, at=now)
        _key, text = api_keys.create(brand=brand, kind=kind, name="tests", at=now, scopes=ApiKey.Scope.values)
        return self.with_headers(api_key=text, origin=f"https://{brand.hostnames.order_by('hostname')[0].hostname}")

    def get(self, path: str, **query: Any) -> Any:
        return self.call("GET", path, query=query)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        """`body` as JSON; bytes as they are."""
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        return self.with_headers(**headers).call("POST", path, data=data)

    def call(
        self,
        method: str,
        path: str,
        *,
        data: bytes = b"",
        content_type: str = "application/json",
        query: Mapping[str, Any] | None = None,
    ) -> Any:
        """The response of Django's test client to a path below /api/v1/, or to an absolute one."""
        address = path if path.startswith("/") else PREFIX + path
        response: Any = Client(REMOTE_ADDR=self.address).generic(
            method, address, data, content_type, headers=dict(self.headers), query_params=dict(query or {})
        )
        if response.streaming:
            response = buffered(response)
        openapi.check_response(response, method=method, address=address)
        return response

    def credit(self, user: User, code: Any, **headers: str) -> Any:
        """Spec 4.1 for a scan of `code` by `user`."""
        action = {"user_id": user.pk, "brand_id": self.brand.pk, "type": "authenticator_scan"}
        return self.post("brand/loyalty/campaign/event", {**action, "product": {"authCode": str(code)}}, **headers)

    def verify(self, code: Any, **location: Any) -> Any:
        return self.post(f"verify/product/{code}", location)


def buffered(response: Any) -> HttpResponse:
    """A streamed response as an ordinary one."""
    return HttpResponse(b"".join(response.streaming_content), status=response.status_code, headers=response.headers)


def error(response: Any) -> tuple[int, str]:
    """Status and error code."""
    return response.status_code, response.json()["error"]
