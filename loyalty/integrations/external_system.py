"""A brand's own loyalty system, which approves points before they are credited (spec section 1, step 6).

Only this module writes its settings.
"""

import json
import logging
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from time import monotonic, sleep
from typing import Any
from uuid import UUID, uuid4

from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_variables

from brands.models.tenants import Brand
from brands.tenants import callable_urls
from core import json_values
from core.http import client, webhook_signatures
from core.redis.circuit_breaker import CircuitBreaker
from events import messages, worker_signals
from events.messages import LeasedEvent, RetryLater
from events.models import Event
from loyalty.errors import ExternallyRejected
from loyalty.models.external_system import ExternalSystem

logger = logging.getLogger(__name__)

BUDGET_SECONDS = 2.0
# A request that fails at once is retried once, if there is time left for a response.
SECOND_TRY_AFTER_SECONDS, SECOND_TRY_NEEDS_SECONDS = 0.1, 0.5
MOMENTARY = {502, 503, 504}
RETRY_HOURS = 72
LAST_TRY = timedelta(minutes=1)  # before the event expires
MAX_ANSWER_BYTES = 20_000
MAX_REASON_LENGTH = 500
MAX_SLOW = 2
USER_AGENT = "loyalty-external/1"


class Decision(StrEnum):
    PROCEED = "proceed"
    REJECT = "refuse"


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """An accrual that waits for approval. `points` are before any limits; `event_id` is the idempotency key."""

    event_id: UUID
    kind: str
    brand_id: int
    user_id: int
    user_point_id: int | None
    campaign_type: str
    reason_ids: list[str]
    points: int | float | None
    balance: int | float | None
    lifetime_points: int | float | None
    current_level: str
    happened_at: str


@dataclass(frozen=True, slots=True)
class ApprovalDecision:
    """The answer. `decision` is None if there was none; `reason` then says why. `cooldown` is the minimum wait."""

    decision: Decision | None
    reason: str = ""
    milliseconds: int = 0
    cooldown: timedelta = timedelta()


def request_approval(*, system_id: int, delivery: LeasedEvent, question: ApprovalRequest) -> None:
    """Ask for approval, outside any transaction. Returns if the points may be credited.

    Workers of the points lane must not wait for it. Raises RerouteEvent to move the event to its own lane, RetryLater
    if the brand holds the points, ExternallyRejected if they are finally rejected.
    """
    if delivery.lane == messages.POINTS and not delivery.is_inline:
        raise messages.RerouteEvent(messages.EXTERNAL, retry_hours=RETRY_HOURS)
    system = ExternalSystem.objects.filter(pk=system_id, is_active=True).first()
    if system is None:  # switched off in the meantime
        return
    apply_decision(system, delivery, decision_of(system, delivery, question))


def apply_decision(system: ExternalSystem, delivery: LeasedEvent, decision: ApprovalDecision) -> None:
    """Apply what the brand configured for this decision. Raises RetryLater and ExternallyRejected."""
    if decision.decision == Decision.PROCEED:
        return
    rejected = decision.decision == Decision.REJECT
    chosen = system.when_rejected if rejected else system.when_away
    outcome = _("rejected") if rejected else _("no answer")
    logger.info("event %s: external system: %s (%s): %s", delivery.event_id, outcome, decision.reason, chosen)
    if chosen == ExternalSystem.WhenRejected.REJECT:
        raise ExternallyRejected(details={"reason": decision.reason} if decision.reason else None)
    if chosen == ExternalSystem.WhenAway.HOLD:
        answer = f"{outcome}. {decision.reason}".strip()
        why = _("Held. External loyalty system: %(answer)s") % {"answer": answer}
        raise RetryLater(why, after=postponement(delivery, decision))


def postponement(delivery: LeasedEvent, decision: ApprovalDecision) -> timedelta:
    """Growing pauses, with one attempt just before the event expires."""
    left = delivery.give_up_at - LAST_TRY - timezone.now()
    delay = max(messages.pause(delivery.attempts), decision.cooldown)
    return min(delay, left) if left > timedelta() else delay


def decision_of(system: ExternalSystem, delivery: LeasedEvent, question: ApprovalRequest) -> ApprovalDecision:
    """Never exceeds the time budget. Sends no request while the circuit breaker is open."""
    breaker = breaker_of(system)
    cooldown = breaker.wait()
    if cooldown:
        return ApprovalDecision(
            None, _("It failed several times. Requests are paused."), cooldown=timedelta(seconds=cooldown)
        )
    max_slots = MAX_SLOW if breaker.is_slow() and not delivery.is_inline else None
    with worker_signals.acquire_slot(lane=f"external:{system.brand_id}", count=max_slots) as slot:
        if not slot:  # other brands must not wait for this one
            raise RetryLater(_("Held: the external loyalty system is slow."), after=messages.pause(delivery.attempts))
        decision = send_with_retry(
            system, message_id=str(question.event_id), kind="accrual.requested", data=asdict(question)
        )
    note(breaker, decision)
    return decision


def note(breaker: CircuitBreaker, decision: ApprovalDecision) -> None:
    if decision.decision is None:
        breaker.failed()
    else:
        breaker.succeeded()
    breaker.record_duration(decision.milliseconds / 1000)


def send_with_retry(system: ExternalSystem, *, message_id: str, kind: str, data: dict[str, Any]) -> ApprovalDecision:
    """Send a request, and retry once if it fails at once; two seconds in total. Never raises for server errors."""
    body = json_values.ENCODER.encode(
        {"type": kind, "timestamp": json_values.iso(timezone.now()), "data": data}
    ).encode()
    began = monotonic()
    decision, soon = _try(system, message_id, body, BUDGET_SECONDS)
    left = BUDGET_SECONDS - SECOND_TRY_AFTER_SECONDS - (monotonic() - began)
    if soon and left >= SECOND_TRY_NEEDS_SECONDS:
        sleep(SECOND_TRY_AFTER_SECONDS)
        decision, _soon = _try(system, message_id, body, left)
    return ApprovalDecision(decision.decision, decision.reason, round((monotonic() - began) * 1000))


def _try(system: ExternalSystem, message_id: str, body: bytes, seconds: float) -> tuple[ApprovalDecision, bool]:
    """The decision, and whether a retry might succeed."""
    at = timezone.now()
    signed = webhook_signatures.signed_headers(
        message_id=message_id, at=at, body=body, secrets_in_use=system.secrets_in_use(at)
    )
    plain_headers = {"Content-Type": "application/json", "User-Agent": USER_AGENT, "Idempotency-Key": message_id}
    try:
        answer = client.send(
            "POST",
            system.url,
            headers={**plain_headers, **client.LOOP, **signed},
            content=body,
            timeout_seconds=seconds,
            most_bytes=MAX_ANSWER_BYTES,
        )
    except client.RequestFailedError as error:
        return ApprovalDecision(None, str(error)), True
    if answer.status != 200:
        return ApprovalDecision(
            None, _("It answered %(status)d.") % {"status": answer.status}
        ), answer.status in MOMENTARY
    return read(answer.body), False


def read(body: bytes) -> ApprovalDecision:
    """Parse {"decision": "proceed" | "refuse", "reason": "..."}, and ignore other keys."""
    try:
        data = json.loads(body)
        decision = Decision(data["decision"])
        reason = str(data.get("reason") or "")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return ApprovalDecision(None, _('Its answer is not {"decision": "proceed"} or {"decision": "refuse"}.'))
    return ApprovalDecision(decision, reason[:MAX_REASON_LENGTH].replace("\0", " ").encode("utf-8", "replace").decode())


def test(*, system: ExternalSystem) -> ApprovalDecision:
    """Send a test request without personal data. A valid response closes the circuit breaker."""
    decision = send_with_retry(system, message_id=str(uuid4()), kind="external.test", data={"message": "Hello."})
    if decision.decision is not None:
        note(breaker_of(system), decision)
    return decision


def breaker_of(system: ExternalSystem) -> CircuitBreaker:
    """All workers and requests share its state."""
    return CircuitBreaker(
        name=f"external:{system.brand_id}", cooldown_seconds=5, max_cooldown_seconds=60, probe_seconds=5
    )


@dataclass(frozen=True, slots=True)
class Postponed:
    """Events that wait for the external system. `since` is when the oldest of them was created."""

    number: int
    since: datetime | None


def postponed(*, brand_id: int) -> Postponed:
    waiting = Event.objects.pending().filter(lane=messages.EXTERNAL, brand_id=brand_id)
    return Postponed(waiting.count(), waiting.order_by("created_at").values_list("created_at", flat=True).first())


@sensitive_variables("secret")
def create(
    *, brand: Brand, url: str, when_rejected: str, when_away: str, is_active: bool
) -> tuple[ExternalSystem, str]:
    """Create a brand's system and its secret, which is never shown again. Raises Invalid, naming the field."""
    secret = webhook_signatures.new_secret()
    made = ExternalSystem.objects.create(
        brand=brand,
        url=callable_urls.callable_address(url),
        when_rejected=when_rejected,
        when_away=when_away,
        is_active=is_active,
        secret=secret,
    )
    breaker_of(made).succeeded()
    return made, secret


def change(*, system: ExternalSystem, fields: set[str]) -> None:
    """Store what staff changed, and close the circuit breaker: the change may have mended the calls."""
    system.save(update_fields=fields)
    breaker_of(system).succeeded()
