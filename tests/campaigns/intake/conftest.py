"""Who reports actions: the brand's app and its hub."""

import pytest


@pytest.fixture
def app(api, customer):
    """The brand's app in the customer's hands."""
    return api.as_customer(customer).app()


@pytest.fixture
def hub(api, customer):
    """The brand's hub, on behalf of somebody who is logged in."""
    return api.as_customer(customer).hub()
