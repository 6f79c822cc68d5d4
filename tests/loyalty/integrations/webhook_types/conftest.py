"""Fixtures: a brand whose own server is subscribed to every type of webhook."""

import pytest

from tests.loyalty.integrations.webhooks import data_of, endpoint, send
from tests.support.fakes.fake_http import receiver, reset_breakers


@pytest.fixture(autouse=True)
def loopback_allowed(settings):
    settings.OUTGOING_PRIVATE_NETWORKS = ["127.0.0.0/8"]
    reset_breakers()


@pytest.fixture
def shop():
    """The brand's own server."""
    with receiver() as server:
        yield server


@pytest.fixture
def received(shop, brand, customer):
    """`received(kind)`: the data of each webhook of a type that the brand's server got since the test began."""
    endpoint(brand, shop)

    def send_and_read(kind):
        send()
        return data_of(shop, kind)

    return send_and_read
