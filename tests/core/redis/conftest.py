"""Rate limits that are counted in Redis, and an outage of Redis."""

import uuid

import pytest
from django.conf import settings as project

from core.errors import RateLimited
from core.redis import client, in_process_limits, rate_limits
from core.redis.client import OutageState


@pytest.fixture
def unique_id():
    """An identifier that no test has counted before."""
    return uuid.uuid4().hex


@pytest.fixture
def outage(monkeypatch):
    in_process_limits.clear()
    state = OutageState()
    monkeypatch.setattr(client, "outage", state)
    return state


@pytest.fixture
def set_rate_limits(settings):
    def apply(**limits):
        settings.RATE_LIMITS = {**project.RATE_LIMITS, **limits}

    return apply


def is_allowed(name, *identifiers):
    try:
        rate_limits.hit(name, *identifiers)
    except RateLimited:
        return False
    return True


def brand_is_allowed(brand, **options):
    try:
        rate_limits.hit_brand(brand, **options)
    except RateLimited:
        return False
    return True
