"""Fixtures: a shop's server that receives webhooks, and an endpoint that leads to it."""

import pytest
from django.utils import timezone

from loyalty.integrations import webhook_events
from loyalty.models.webhooks import WebhookDelivery
from tests.loyalty.integrations.webhooks import endpoint, send
from tests.support.fakes.fake_http import receiver

State = WebhookDelivery.State


@pytest.fixture
def shop():
    with receiver() as server:
        yield server


@pytest.fixture
def hook(brand, shop):
    return endpoint(brand, shop)


def ping(hook):
    return webhook_events.ping(endpoint=hook, at=timezone.now())


def ping_and_send(hook):
    delivery = ping(hook)
    send()
    delivery.refresh_from_db()
    return delivery
