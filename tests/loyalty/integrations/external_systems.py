"""A brand's external system, and the scans that it is asked about."""

from django.utils import timezone

from events import messages, worker
from events.models import Event
from loyalty.integrations import external_system
from loyalty.models.accounts import UserPoints
from loyalty.models.external_system import ExternalSystem

WhenRejected, WhenAway = ExternalSystem.WhenRejected, ExternalSystem.WhenAway


def system(brand, partner, **fields):
    chosen = {"when_rejected": WhenRejected.HOLD, "when_away": WhenAway.HOLD, "is_active": True, **fields}
    made, _secret = external_system.create(
        brand=brand, url=partner if isinstance(partner, str) else partner.url, **chosen
    )
    return made


def work():
    """What the workers do: the points' lane, then the one of the external system."""
    worker.drain()
    worker.drain_slow(lane=messages.EXTERNAL)


def hasten():
    Event.objects.pending().update(due_at=timezone.now())


def points_of(customer):
    return UserPoints.objects.get(user=customer).points
