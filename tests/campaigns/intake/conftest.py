"""The callers that report actions: the brand's app and its hub."""

import pytest


@pytest.fixture
def app(api, customer):
    """The brand's app, used by the customer."""
    return api.as_customer(customer).app()


@pytest.fixture
def hub(api, customer):
    """The brand's hub, acting for a customer who is logged in."""
    return api.as_customer(customer).hub()
