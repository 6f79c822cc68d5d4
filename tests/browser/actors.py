"""What happens outside the windows of staff: customers scan, and the worker handles events."""

from typing import Any

import httpx
from django.utils import timezone

from brands.identity import tokens
from brands.models.people import User
from brands.models.tenants import Brand
from events.models import Event
from tests.support.live_stack import Stack, wait_until

PARIS = {"latitude": 48.8566, "longitude": 2.3522}
PUNE = {"latitude": 18.5204, "longitude": 73.8567}


def scan(portal: Stack, customer: User, brand: Brand, code: Any, **location: float) -> dict[str, Any]:
    """The API's answer to a scan with the customer's app."""
    access = tokens.issue(user=customer, brand=brand, at=timezone.now()).access
    request_options = {"json": location, "headers": {"authorization": f"Bearer {access}"}, "timeout": 20}
    answer: dict[str, Any] = httpx.post(f"{portal.url}/api/v1/verify/product/{code}", **request_options).json()
    return answer


def wait_for_worker() -> None:
    """Wait until the worker has delivered every event."""
    wait_until(lambda: not Event.objects.pending().exists())
