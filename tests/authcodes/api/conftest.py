"""Who reads a brand's codes over HTTP: its hub and its staff."""

import pytest


@pytest.fixture
def hub(api):
    return api.hub()


def addresses(api, batch, **query):
    return api.get(f"batch-ranges/{batch.pk}/qr-codes", **query)
