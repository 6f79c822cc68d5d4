"""Receives events that EventBridge puts in an Amazon SQS queue: stores each, then deletes it from the queue."""

import logging
from collections.abc import Callable
from importlib import import_module
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError, connections
from rest_framework.exceptions import ValidationError

from brands.errors import BrandMismatch
from brands.models.quotas import BrandQuota
from brands.tenants import quotas
from campaigns.intake.envelope import EnvelopeInput, store_event
from core.api.json_codec import read_object
from core.errors import DomainError
from core.observability import metrics
from core.observability.tracing import TraceContext

logger = logging.getLogger(__name__)

MAX_AT_ONCE = 10  # the maximum of SQS
PAUSE_SECONDS = 5.0
EVERY_BRAND = "*"


class DatabaseAway(Exception):
    """The database is unavailable, so no message can be stored; received messages stay on the queue."""


def client() -> Any:
    """The boto3 client, with credentials, region and endpoint from the environment or the machine's role."""
    return import_module("boto3").client("sqs")


def receive_batch(sqs: Any, *, wait_seconds: int) -> int:
    """Receive one batch, waiting up to `wait_seconds`, and store it. Returns how many messages were received.

    Rejected messages stay on the queue: after maxReceiveCount, the redrive policy moves them to the dead-letter queue.
    Raises DatabaseAway at once, because further failed attempts would move valid messages there as well.
    """
    received = sqs.receive_message(
        QueueUrl=settings.SQS_QUEUE_URL, MaxNumberOfMessages=MAX_AT_ONCE, WaitTimeSeconds=wait_seconds
    ).get("Messages", [])
    stored: list[dict[str, str]] = []
    try:
        for message in received:
            if store_message(message):
                stored.append({"Id": str(len(stored)), "ReceiptHandle": message["ReceiptHandle"]})
    finally:  # what is stored is committed, even if a later message fails
        if stored:
            answer = sqs.delete_message_batch(QueueUrl=settings.SQS_QUEUE_URL, Entries=stored)
            for failed in answer.get("Failed", ()):  # it is delivered again, as a duplicate
                logger.warning("SQS keeps a message that was taken in: %s", failed.get("Code"))
    return len(received)


def store_message(message: dict[str, Any]) -> bool:
    """Store the event of one message. True: it is committed, now or before."""
    with TraceContext("message", "SQS message", request_id=message["MessageId"]):
        try:
            envelope = EnvelopeInput.parse(read_object(message["Body"].encode(errors="surrogatepass")))
            if not may_send_for(envelope["detail"]["arguments"]["brand_id"]):
                raise BrandMismatch
            new = store_event(envelope, tokens_may_be_old=True)
        except (DomainError, ValidationError) as domain_error:
            metrics.taken_from_queue("refused")
            why = domain_error.code if isinstance(domain_error, DomainError) else "VALIDATION_ERROR"
            logger.warning("an SQS message was refused (%s) and is left to the redrive policy", why)
            return False
        except (OperationalError, InterfaceError) as error:
            connections.close_all()
            raise DatabaseAway from error
        if new:
            # Only counted, not rejected: that would move messages of the operator's own queue to the dead-letter queue.
            quotas.note(envelope["detail"]["arguments"]["brand_id"], BrandQuota.Resource.EVENTS)
        metrics.taken_from_queue("accepted" if new else "duplicate")
        return True


def may_send_for(brand_id: int) -> bool:
    """Whether settings.SQS_BRANDS lets the queue send events of the brand."""
    if EVERY_BRAND in settings.SQS_BRANDS:
        return True
    return str(brand_id) in settings.SQS_BRANDS


def receive_all(
    sqs: Any, *, wait_seconds: int, until_empty: bool, stopping: Callable[[], bool], pause: Callable[[float], object]
) -> int:
    """Receive until `stopping` or, with `until_empty`, until the queue is empty. Returns the number of messages."""
    total = 0
    while not stopping():
        try:
            taken = receive_batch(sqs, wait_seconds=wait_seconds)
        except DatabaseAway as error:
            logger.warning("the database is away (%s); nothing is received until it answers", error.__cause__)
            pause(PAUSE_SECONDS)
            continue
        total += taken
        if until_empty and not taken:
            break
    return total
