"""Helpers for the tests of a batch's pages and of deliveries to shops."""

from datetime import date
from typing import Any

from django.utils import timezone

from authcodes.codes import deliveries
from authcodes.codes.ranges import CodeRange, resolve_range
from authcodes.models.batches import BatchRange
from tests.support.portal import address


def page(client: Any, batch: BatchRange, **query: Any) -> Any:
    return client.get(address("authcodes.batchrange", "change", batch.pk), query)


def range_of(batch: BatchRange, first: Any, last: Any) -> CodeRange:
    return resolve_range(batch=batch, first=str(first), last=str(last))


def deliver(batch: BatchRange, first: Any, last: Any) -> int:
    codes = range_of(batch, first, last)
    return deliveries.deliver(codes=codes, day=date(2026, 1, 31), place="Berlin", by=None, at=timezone.now())


def undo(batch: BatchRange, first: Any, last: Any) -> int:
    codes = range_of(batch, first, last)
    return deliveries.undo_delivery(codes=codes, reason="Back", by=None, at=timezone.now())


def stage(response: Any, name: str) -> Any:
    return next(each for each in response.context["batch_figures"]["stages"] if each.name == name)


def summary(client, brand, **fields):
    form_data = {"brand": brand.pk, "range_name": "Autumn", "prefix": "AUT-", "starting_number": 7, "number_width": 6}
    return client.get(
        address("authcodes.batchrange", "summary"),
        {**form_data, "quantity": 25, "scan_limit": 1, "signed": "plain", **fields},
    )
