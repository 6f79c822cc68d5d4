"""A shop whose server a webhook calls."""

import pytest
from django.utils import timezone

from loyalty.integrations import webhook_events
from loyalty.models.webhooks import WebhookDelivery
from tests.loyalty.integrations.webhooks import endpoint, send
from tests.support.fakes.fake_http import receiver

State = WebhookDelivery.State


@pytest.fixture
def shop():
    with receiver() as running:
        yield running


@pytest.fixture
def hook(brand, shop):
    return endpoint(brand, shop)


def ping(hook):
    return webhook_events.ping(endpoint=hook, at=timezone.now())


def pinged(hook):
    message = ping(hook)
    send()
    message.refresh_from_db()
    return message
