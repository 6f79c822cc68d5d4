"""Webhook calls: the only code that sends deliveries to endpoints and stores the results."""

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic

from django.conf import settings
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from brands.models.quotas import BrandQuota
from brands.tenants import quotas
from core.http import client, webhook_signatures
from events import leases, messages, worker_signals
from events.messages import LeasedEvent, RetryLater
from loyalty.integrations import webhook_endpoints
from loyalty.models.webhooks import WebhookAttempt, WebhookDelivery, WebhookEndpoint

State = WebhookDelivery.State

# After the first failure, the second, and so on. The last pause repeats until three days are over.
PAUSES = [
    *(timedelta(seconds=seconds) for seconds in (5, 30)),
    *(timedelta(minutes=minutes) for minutes in (2, 10, 30)),
    *(timedelta(hours=hours) for hours in (1, 2, 4, 8, 12)),
]
MAX_RETRY_AFTER = timedelta(hours=12)
LAST_CALL = timedelta(minutes=5)  # before the event expires
ANSWER_BYTES = 2_000
# The maximum number of senders that wait for a slow or failing receiver.
MAX_SLOW = 2
USER_AGENT = "loyalty-webhooks/1"


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """The result of one call."""

    at: datetime
    milliseconds: int
    status: int | None = None
    answer: str = ""
    error: str = ""
    retry_after: timedelta | None = None

    @property
    def succeeded(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def is_gone(self) -> bool:
        return self.status == 410


def on_call_webhook(delivery: LeasedEvent) -> None:
    """Attempt a delivery once. A failed one is retried with growing pauses; an inactive endpoint's is dropped."""
    rows = WebhookDelivery.objects.select_related("endpoint").filter(pk=delivery.payload["message"])
    message = rows.first()
    if message is None or message.state in {State.DELIVERED, State.DROPPED} or not message.body:
        leases.finish(delivery, outcome={"state": message.state if message else "forgotten"})
    elif not message.endpoint.is_active:
        end(delivery, message, State.DROPPED)
    else:
        with concurrency_slot(delivery, message):
            wait_for_quota(delivery, message)
            made = call(message)
        write(delivery, message, made)


@contextmanager
def concurrency_slot(delivery: LeasedEvent, message: WebhookDelivery) -> Iterator[None]:
    """Raises RetryLater while the circuit breaker is open, or while enough senders wait for a slow endpoint."""
    breaker = webhook_endpoints.breaker_of(message.endpoint)
    cooldown = breaker.wait()
    if cooldown:
        postpone(
            delivery,
            message,
            max(timedelta(seconds=cooldown), backlog_pause(delivery)),
            _("The receiver is paused after repeated failures."),
        )
    max_slots = MAX_SLOW if message.endpoint.failing_since or breaker.is_slow() else None
    with worker_signals.acquire_slot(lane=f"webhook:{message.endpoint_id}", count=max_slots) as slot:
        if not slot:
            postpone(delivery, message, backlog_pause(delivery), _("The receiver is slow. Other deliveries go first."))
        yield


def wait_for_quota(delivery: LeasedEvent, message: WebhookDelivery) -> None:
    """Count a delivery at its first attempt. Above the brand's quota, raises RetryLater until tomorrow.

    No delivery is lost: one that cannot wait until tomorrow is sent.
    """
    if message.attempts or quotas.take(message.brand_id, BrandQuota.Resource.WEBHOOKS):
        return
    tomorrow = quotas.until_tomorrow(timezone.now())
    if timezone.now() + tomorrow < delivery.give_up_at - LAST_CALL:
        postpone(delivery, message, tomorrow, _("The brand has reached today's webhook quota."))


def backlog_pause(delivery: LeasedEvent) -> timedelta:
    """Grows with the number of attempts, so that a long queue does not keep itself busy."""
    return messages.pause(min(delivery.attempts, 9))


def postpone(delivery: LeasedEvent, message: WebhookDelivery, wait: timedelta, why: str) -> None:
    """Postpone without an attempt. Raises RetryLater."""
    wait = min(wait, max(delivery.give_up_at - LAST_CALL - timezone.now(), timedelta(seconds=30)))
    waiting = WebhookDelivery.objects.filter(pk=message.pk, state=State.WAITING)
    waiting.update(next_attempt_at=timezone.now() + wait)
    raise RetryLater(why, after=wait)


def call(message: WebhookDelivery) -> AttemptResult:
    """Send one POST. Never raises for errors of the receiver."""
    at, began, body = timezone.now(), monotonic(), message.body.encode()
    signed = webhook_signatures.signed_headers(
        message_id=message.message_id, at=at, body=body, secrets_in_use=message.endpoint.secrets_in_use(at)
    )
    headers = {"Content-Type": "application/json", "User-Agent": USER_AGENT, **client.LOOP, **signed}
    try:
        answer = client.send(
            "POST",
            message.endpoint.url,
            headers=headers,
            content=body,
            timeout_seconds=settings.WEBHOOK_TIMEOUT_SECONDS,
            most_bytes=ANSWER_BYTES,
            cut=True,
        )
    except client.RequestFailedError as error:
        return AttemptResult(at, since(began), error=str(error))
    more = _("The response is longer than %(most)d bytes and was cut.") % {"most": ANSWER_BYTES}
    return AttemptResult(
        at=at,
        milliseconds=since(began),
        status=answer.status,
        answer=readable(answer.body),
        error=redirected(answer) or (more if answer.cut else ""),
        retry_after=answer.retry_after(at=at, at_most=MAX_RETRY_AFTER),
    )


def since(began: float) -> int:
    return round((monotonic() - began) * 1000)


def readable(body: bytes) -> str:
    """Decode arbitrary bytes to text that PostgreSQL accepts and people can read."""
    return body.decode("utf-8", errors="replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


def redirected(answer: client.Answer) -> str:
    if not 300 <= answer.status < 400:
        return ""
    there = answer.headers.get("location", "")[:300]
    return _("Redirects are not followed. This one points to %(address)s.") % {"address": there}


def write(delivery: LeasedEvent, message: WebhookDelivery, made: AttemptResult) -> None:
    """Store the attempt and what follows from it. Raises RetryLater if there is a next attempt."""
    endpoint = message.endpoint
    note_health(endpoint, made)
    if made.succeeded:
        end(delivery, message, State.DELIVERED, made)
        return
    if made.is_gone:
        end(delivery, message, State.FAILED, made)
        return
    wait = next_pause(failures_before(delivery, message), made, delivery.give_up_at)
    if wait is None:
        with transaction.atomic():
            record_attempt(message, made, state=State.FAILED, finished_at=made.at)
            webhook_endpoints.note_failure(endpoint=endpoint, at=made.at)
        leases.give_up(delivery, attempt_summary(made))
        return
    with transaction.atomic():
        record_attempt(message, made, next_attempt_at=timezone.now() + wait)
        webhook_endpoints.note_failure(endpoint=endpoint, at=made.at)
    raise RetryLater(attempt_summary(made), after=wait)


def end(
    delivery: LeasedEvent, message: WebhookDelivery, state: WebhookDelivery.State, made: AttemptResult | None = None
) -> None:
    """End the webhook delivery and the event in one transaction."""
    now = timezone.now()
    with transaction.atomic():
        leases.finish(delivery, outcome={"state": state.value, "status": made.status if made else None})
        record_attempt(message, made, state=state, next_attempt_at=None, finished_at=now)
        if made and made.succeeded:
            webhook_endpoints.note_success(endpoint=message.endpoint)
        if made and made.is_gone:
            webhook_endpoints.stop(endpoint=message.endpoint, state=WebhookEndpoint.State.GONE, at=now)


def record_attempt(message: WebhookDelivery, made: AttemptResult | None, **changes: object) -> None:
    """Add the attempt to the log, and update the webhook delivery. Call in a transaction.

    Raises LeaseLostError if the person was erased in the meantime, because a response may contain personal data.
    """
    if made:
        changes |= {"attempts": F("attempts") + 1, "last_status": made.status}
    if not WebhookDelivery.objects.filter(pk=message.pk).exclude(body="").update(**changes):
        raise messages.LeaseLostError
    if made:
        WebhookAttempt.objects.create(
            delivery=message,
            at=made.at,
            status=made.status,
            milliseconds=made.milliseconds,
            answer=made.answer,
            error=made.error[:500],
        )


def purge_answers(messages: Sequence[int]) -> None:
    """For the erasure of personal data: delete responses, because they may repeat what was sent."""
    WebhookAttempt.objects.filter(delivery__in=messages).update(answer="", error="")


def failures_before(delivery: LeasedEvent, message: WebhookDelivery) -> int:
    """The failures before this call, since the event was published or staff last sent it again."""
    since_sent = message.calls.filter(at__gte=delivery.time).count()
    return min(since_sent, delivery.attempts - 1)


def next_pause(failures: int, made: AttemptResult, give_up_at: datetime) -> timedelta | None:
    """The pause, not less than the receiver's Retry-After. None if the three days are over."""
    planned = PAUSES[min(failures, len(PAUSES) - 1)] * random.uniform(1, 1.1)  # noqa: S311 - jitter
    left = give_up_at - LAST_CALL - timezone.now()
    if left < timedelta(minutes=1):
        return None
    return min(max(planned, made.retry_after or timedelta()), left)


def attempt_summary(made: AttemptResult) -> str:
    return " ".join(part for part in (str(made.status or ""), made.error) if part)


def note_health(endpoint: WebhookEndpoint, made: AttemptResult) -> None:
    """Record for later calls whether the endpoint responds, and whether it is slow."""
    breaker = webhook_endpoints.breaker_of(endpoint)
    if made.status is not None and made.status < 500 and made.status != 429:
        breaker.succeeded()  # it responds, even if it rejects this delivery
    else:
        breaker.failed()
    breaker.record_duration(made.milliseconds / 1000)
