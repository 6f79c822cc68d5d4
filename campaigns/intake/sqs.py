"""Events from an Amazon SQS queue, as EventBridge puts them there: taken in, and only then taken off the queue."""

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

MAX_AT_ONCE = 10  # SQS gives no more
PAUSE_SECONDS = 5.0
EVERY_BRAND = "*"


class DatabaseAway(Exception):
    """No message can be stored now; what was received stays on the queue."""


def client() -> Any:
    """Credentials, region and endpoint come from the environment or the machine's role, as boto3 finds them."""
    return import_module("boto3").client("sqs")


def receive_batch(sqs: Any, *, wait_seconds: int) -> int:
    """Receive one portion, waiting for it so long, and take in what is good. Returns how many messages there were.

    What is refused stays: after maxReceiveCount the queue's redrive policy moves it to the dead-letter queue.
    Raises DatabaseAway before more messages are tried in vain, which would send good ones there.
    """
    received = sqs.receive_message(
        QueueUrl=settings.SQS_QUEUE_URL, MaxNumberOfMessages=MAX_AT_ONCE, WaitTimeSeconds=wait_seconds
    ).get("Messages", [])
    stored: list[dict[str, str]] = []
    try:
        for message in received:
            if store_message(message):
                stored.append({"Id": str(len(stored)), "ReceiptHandle": message["ReceiptHandle"]})
    finally:  # what is stored is committed, whatever became of the next one
        if stored:
            answer = sqs.delete_message_batch(QueueUrl=settings.SQS_QUEUE_URL, Entries=stored)
            for failed in answer.get("Failed", ()):  # it comes again, and is known then
                logger.warning("SQS keeps a message that was taken in: %s", failed.get("Code"))
    return len(received)


def store_message(message: dict[str, Any]) -> bool:
    """Store the event of one message. True: it is stored, now or before, and committed."""
    with TraceContext("message", "SQS message", request_id=message["MessageId"]):
        try:
            envelope = EnvelopeInput.parse(read_object(message["Body"].encode(errors="surrogatepass")))
            if not speaks_for(envelope["detail"]["arguments"]["brand_id"]):
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
            # A refused message would end in the dead-letter queue: those of the operator's own queue only count.
            quotas.note(envelope["detail"]["arguments"]["brand_id"], BrandQuota.Resource.EVENTS)
        metrics.taken_from_queue("accepted" if new else "duplicate")
        return True


def speaks_for(brand_id: int) -> bool:
    """Whether settings.SQS_BRANDS lets the queue speak for the brand."""
    if EVERY_BRAND in settings.SQS_BRANDS:
        return True
    return str(brand_id) in settings.SQS_BRANDS


def receive_all(
    sqs: Any, *, wait_seconds: int, until_empty: bool, stopping: Callable[[], bool], pause: Callable[[float], object]
) -> int:
    """Take portions until told to stop, or until the queue gives none. Returns how many messages there were."""
    total = 0
    while not stopping():
        try:
            taken = receive_batch(sqs, wait_seconds=wait_seconds)
        except DatabaseAway as error:
            logger.warning("the database is away (%s); nothing is received meanwhile", error.__cause__)
            pause(PAUSE_SECONDS)
            continue
        total += taken
        if until_empty and not taken:
            break
    return total
