"""Idempotent writes: with an Idempotency-Key, a repeated request gets the answer of the first."""

import hashlib
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Protocol

from django.db import transaction
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from brands.models.idempotent_requests import IdempotentRequest
from core.api.idempotency import idempotency_key
from core.api.json_codec import Json
from core.errors import IdempotencyKeyReused, raises

RETENTION = timedelta(days=1)


class Sender(Protocol):
    """The caller and their brand. `customer_id`: the customer that the answer is about."""

    @property
    def brand_id(self) -> int: ...
    @property
    def sender(self) -> str: ...
    @property
    def customer_id(self) -> int | None: ...


@raises(IdempotencyKeyReused)
def answer_once(request: Request, by: Sender, work: Callable[[], Response]) -> Response:
    """Run `work` and store its answer, in one transaction. Nothing is stored if it raises.

    Of two concurrent requests with the same key, the second waits for the first and gets its answer. Raises
    IdempotencyKeyReused for a key that this sender used for another request within the last day.
    """
    key = idempotency_key(request)
    with transaction.atomic():
        if not key:
            return work()
        digest = _digest(request)
        row, is_new = IdempotentRequest.objects.get_or_create(
            brand_id=by.brand_id, sender=by.sender, key=key, defaults={"digest": digest, "created_at": timezone.now()}
        )
        if not is_new:
            if bytes(row.digest) != digest:
                raise IdempotencyKeyReused
            return Response(json.loads(row.answer), status=row.status)
        response = work()
        row.status, row.answer = response.status_code, Json().render(response.data).decode()
        row.customer_id = by.customer_id
        row.save(update_fields=["status", "answer", "customer_id"])
        return response


def _digest(request: Request) -> bytes:
    requested = hashlib.sha256(f"{request.method} {request.path}\n".encode())
    requested.update(request._request.body)  # noqa: SLF001 - DRF's own name for Django's request
    return requested.digest()


def purge_old(*, at: datetime) -> int:
    """Delete the answers older than RETENTION. Returns how many."""
    return IdempotentRequest.objects.filter(created_at__lt=at - RETENTION).delete()[0]
