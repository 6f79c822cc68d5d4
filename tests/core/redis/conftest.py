"""Rates that are counted in Redis, and a Redis that is away."""

import uuid

import pytest
from django.conf import settings as project

from core.errors import RateLimited
from core.redis import client, in_process_limits, rate_limits
from core.redis.client import OutageState


@pytest.fixture
def who():
    """Somebody whom no test has counted before."""
    return uuid.uuid4().hex


@pytest.fixture
def outage(monkeypatch):
    in_process_limits.clear()
    fresh = OutageState()
    monkeypatch.setattr(client, "outage", fresh)
    return fresh


@pytest.fixture
def rates(settings):
    def give(**names):
        settings.RATE_LIMITS = {**project.RATE_LIMITS, **names}

    return give


def passes(name, *identifiers):
    try:
        rate_limits.hit(name, *identifiers)
    except RateLimited:
        return False
    return True


def brand_passes(brand, **where):
    try:
        rate_limits.hit_brand(brand, **where)
    except RateLimited:
        return False
    return True
