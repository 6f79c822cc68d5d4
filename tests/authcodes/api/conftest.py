"""Fixtures and helpers that call the API of codes and scans."""

import pytest
from django.utils import timezone

from authcodes.recalls import recalls
from tests.support import factories


@pytest.fixture
def hub(api):
    return api.hub()


def list_qr_images(api, batch, **query):
    return api.get(f"batch-ranges/{batch.pk}/qr-codes", **query)


INVALID_REASONS = ["unknown", "expired", "deactivated", "unassigned", "other_brand", "bad_tag"]


@pytest.fixture
def customer_api(api, customer):
    """An API client with the customer's token."""
    return api.as_customer(customer)


def scan(caller, code, **fields):
    return caller.post("auth-codes/scan", {"code": str(code), **fields})


def validate(caller, code, **fields):
    return caller.post("auth-codes/validate", {"code": str(code), **fields})


def invalid_code(brand, reason):
    """A code that is not valid for `reason`, which the scan record stores."""
    if reason == "unknown":
        return "T-404"
    if reason == "expired":
        return factories.expired_code(brand)
    if reason == "unassigned":
        return factories.code(brand, assigned=False)
    if reason == "other_brand":
        return factories.code(factories.brand())
    code = factories.code(brand)
    if reason == "bad_tag":
        return f"{code}.0000"
    factories.deactivate(codes=[code], at=timezone.now())
    return code


def recall(code, **fields):
    details = {"recall_id": "R-7", "contact": "0800 123", "message": "Bring it back.", "reason": "mould", **fields}
    return recalls.recall_batch(batch=code.batch, at=timezone.now(), **details)
