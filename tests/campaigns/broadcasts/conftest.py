"""A brand that sends broadcasts, and the services that deliver them."""

from typing import Any

import pytest
from django.utils import timezone

from brands.models.tenants import Brand
from campaigns.broadcasts import figures, lifecycle
from jobs import runner
from loyalty.models.messages.broadcasts import Broadcast
from loyalty.models.notifications import (
    NotificationSettings,
)
from tests.loyalty.notifications.conftest import box, own, push, sms, with_push, with_sms, work

__all__ = ["box", "own", "push", "sms", "with_push", "with_sms", "work"]


@pytest.fixture
def sender(brand: Brand, own: NotificationSettings) -> Brand:
    """The brand, with notifications switched on."""
    assert own.is_active
    return brand


def send(broadcast: Broadcast, **options: Any) -> Broadcast:
    """Send the broadcast as its page and the worker do."""
    lifecycle.send(broadcast=broadcast, by=None, at=timezone.now(), **options)
    return run_job(broadcast)


def run_job(broadcast: Broadcast) -> Broadcast:
    broadcast.refresh_from_db()
    assert broadcast.job_id
    runner.run(broadcast.job_id)
    return Broadcast.objects.get(pk=broadcast.pk)


def figures_of(broadcast):
    broadcast.refresh_from_db()
    return figures.latest(broadcast)
