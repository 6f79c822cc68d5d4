"""Webhook endpoints: the only code that creates, changes, stops and starts them."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from brands import audit_log
from brands.audit_log import AuditContext, AuditedChange
from brands.models.tenants import Brand
from brands.tenants import callable_urls
from core.errors import Invalid
from core.http import webhook_signatures
from core.redis.circuit_breaker import CircuitBreaker
from loyalty.models.webhooks import WebhookEndpoint

State = WebhookEndpoint.State
MAX_FAILING = timedelta(hours=120)  # an endpoint that fails for this long is stopped
MAX_ACTIVE = 20  # per brand, because each is called for each event


@sensitive_variables("secret")
def create(
    *, brand: Brand, url: str, types: Sequence[str], description: str = "", at: datetime
) -> tuple[WebhookEndpoint, str]:
    """A new endpoint and its secret, which is never shown again. Raises Invalid, naming the field."""
    with transaction.atomic():
        # Locks the brand: concurrent requests would otherwise both pass the limit.
        Brand.objects.select_for_update(no_key=True).get(pk=brand.pk)
        check_limit(brand)
        secret = webhook_signatures.new_secret()
        made = WebhookEndpoint.objects.create(
            brand=brand,
            url=callable_urls.callable_address(url),
            types=sorted(set(types)),
            description=description,
            secret=secret,
            state_since=at,
            created_at=at,
        )
    return made, secret


def check_limit(brand: Brand) -> None:
    if WebhookEndpoint.objects.active().filter(brand=brand).count() >= MAX_ACTIVE:
        message = _("This brand has %(most)d active webhooks. Disable one before you add another.")
        raise Invalid(message % {"most": MAX_ACTIVE})


def change(*, endpoint: WebhookEndpoint, fields: set[str]) -> None:
    """Store what staff changed: the URL, description or types."""
    endpoint.save(update_fields=fields)
    if "url" in fields:  # the old URL's history does not apply to the new one
        WebhookEndpoint.objects.filter(pk=endpoint.pk).update(failing_since=None)
        breaker_of(endpoint).succeeded()


def stop(
    *, endpoint: WebhookEndpoint, state: WebhookEndpoint.State, at: datetime, audit_context: AuditContext | None = None
) -> bool:
    """Stop calling the endpoint. The audit log also records stops by the service. Returns False if already stopped."""
    by_service = audit_context is None
    return _switch(endpoint, state, at, audit_context or AuditContext(None, at), by_service=by_service)


def start(*, endpoint: WebhookEndpoint, at: datetime, audit_context: AuditContext) -> bool:
    """Resume calls with the next event. Missed deliveries can be sent again. Raises Invalid above the limit."""
    with transaction.atomic():
        Brand.objects.select_for_update(no_key=True).get(pk=endpoint.brand_id)
        check_limit(endpoint.brand)
        breaker_of(endpoint).succeeded()
        return _switch(endpoint, State.ACTIVE, at, audit_context, by_service=False)


def _switch(
    endpoint: WebhookEndpoint,
    state: WebhookEndpoint.State,
    at: datetime,
    audit_context: AuditContext,
    *,
    by_service: bool,
) -> bool:
    with transaction.atomic():
        locked = WebhookEndpoint.objects.select_for_update(no_key=True).get(pk=endpoint.pk)
        # The service stops an endpoint once, and does not override a state set by staff.
        if locked.state == state or (by_service and not locked.is_active):
            return False
        changes = {"state": (locked.get_state_display(), state.label)}
        WebhookEndpoint.objects.filter(pk=endpoint.pk).update(state=state, state_since=at, failing_since=None)
        audit_log.record(
            audit_context=audit_context, action=state.label, rows=[AuditedChange(locked, locked.brand_id, changes)]
        )
    endpoint.refresh_from_db(fields=["state", "state_since", "failing_since"])
    return True


def note_failure(*, endpoint: WebhookEndpoint, at: datetime) -> None:
    """Record when the endpoint began to fail. Stop it if it has failed for MAX_FAILING."""
    if endpoint.failing_since is None:
        rows = WebhookEndpoint.objects.filter(pk=endpoint.pk, failing_since=None)
        rows.update(failing_since=at)
    elif at - endpoint.failing_since >= MAX_FAILING:
        stop(endpoint=endpoint, state=State.FAILING, at=at)


def note_success(*, endpoint: WebhookEndpoint) -> None:
    """Writes only on a change, because every scan reads this table."""
    if endpoint.failing_since is not None:
        WebhookEndpoint.objects.filter(pk=endpoint.pk).update(failing_since=None)


def breaker_of(endpoint: WebhookEndpoint) -> CircuitBreaker:
    """Pauses calls to an endpoint that does not respond."""
    return CircuitBreaker(name=f"webhook:{endpoint.pk}", probe_seconds=settings.WEBHOOK_TIMEOUT_SECONDS + 5)
