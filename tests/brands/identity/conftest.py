"""Tokens that the tests of identity issue and sign."""

import time

import jwt
import pytest
from django.conf import settings
from django.utils import timezone

from brands.identity import tokens

LONG_AGO, FAR_FUTURE = 1_000_000_000, 5_000_000_000  # seconds since 1970


@pytest.fixture
def pair(customer, brand):
    return tokens.issue(user=customer, brand=brand, at=timezone.now())


def rotate(refresh):
    return tokens.rotate(refresh=refresh, at=timezone.now())


def signed(*, key=None, algorithm="HS256", headers=None, without=(), **claims):
    """Return a signed token that is valid but for the claims that the test sets."""
    defaults = {
        "iss": settings.JWT_ISSUER,
        "aud": settings.JWT_AUDIENCE,
        "exp": int(time.time()) + 60,
        "token_type": "access",
        "user_id": 1,
        "brand_id": 2,
    }
    payload = {name: value for name, value in {**defaults, **claims}.items() if name not in without}
    own_key = settings.SIMPLE_JWT["SIGNING_KEY"]
    return jwt.encode(payload, own_key if key is None else key, algorithm=algorithm, headers=headers)
