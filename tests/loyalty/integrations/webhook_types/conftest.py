"""A brand with a server of its own that subscribes to everything."""

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
    with receiver() as running:
        yield running


@pytest.fixture
def received(shop, brand, customer):
    """`received(kind)`: the data of each event of a type that the brand's server has been sent since the test began."""
    endpoint(brand, shop)

    def sent(kind):
        send()
        return data_of(shop, kind)

    return sent
