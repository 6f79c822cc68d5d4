"""Helpers for tests of a brand's external loyalty system."""

from django.utils import timezone

from events import messages, worker
from events.models import Event
from loyalty.integrations import external_system
from loyalty.models.accounts import UserPoints
from loyalty.models.external_system import ExternalSystem

WhenRejected, WhenAway = ExternalSystem.WhenRejected, ExternalSystem.WhenAway


def create_system(brand, server, **fields):
    options = {"when_rejected": WhenRejected.HOLD, "when_away": WhenAway.HOLD, "is_active": True, **fields}
    created, _secret = external_system.create(
        brand=brand, url=server if isinstance(server, str) else server.url, **options
    )
    return created


def run_workers():
    """Handle all due events, those of the external system's lane last."""
    worker.drain()
    worker.drain_slow(lane=messages.EXTERNAL)


def make_events_due():
    Event.objects.pending().update(due_at=timezone.now())


def points_of(customer):
    return UserPoints.objects.get(user=customer).points
