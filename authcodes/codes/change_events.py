"""Events codes.deactivated and codes.reactivated: webhooks about changes of many codes."""

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Any
from uuid import uuid5

from authcodes.models.code_history import CodeChange
from events import publishing
from loyalty.integrations import webhook_events
from loyalty.models.webhooks import WebhookType

TYPES = {
    CodeChange.Kind.DEACTIVATED: WebhookType.CODES_DEACTIVATED,
    CodeChange.Kind.REACTIVATED: WebhookType.CODES_REACTIVATED,
}
MAX_RANGES = 1000  # in one event; beyond it, each batch has one range
BRAND, BATCH = attrgetter("brand_id"), attrgetter("batch_id")


def publish(*, runs: Sequence[CodeChange], is_in_parts: bool = False) -> None:
    """Publish one event for each brand whose codes an action deactivated or reactivated. `runs` is its history.

    `is_in_parts`: the runs follow each other. Joins the caller's transaction. The staff's reason is left out, as it may
    name a person.
    """
    for brand_id, group in groupby(sorted(runs, key=BRAND), key=BRAND):
        own = list(group)
        kind = TYPES.get(CodeChange.Kind(own[0].kind))
        if kind is None:
            continue
        at = own[-1].changed_at
        events = webhook_events.events_for_subscribers(
            kind,
            event_data(own, is_in_parts=is_in_parts),
            brand_id=brand_id,
            event_id=uuid5(own[0].action_id, f"announce:{kind}"),
            at=at,
        )
        publishing.publish(messages=events, brand_id=brand_id, at=at)


def event_data(runs: Sequence[CodeChange], *, is_in_parts: bool) -> dict[str, Any]:
    return {
        "action_id": str(runs[0].action_id),
        "codes": sum(run.codes for run in runs),
        "ranges": ranges_of(runs, is_in_parts=is_in_parts),
    }


def ranges_of(runs: Sequence[CodeChange], *, is_in_parts: bool) -> list[dict[str, Any]]:
    """The first and last code of each range, and how many of its codes changed."""
    is_joined = is_in_parts or len(runs) > MAX_RANGES
    groups = [list(group) for _batch, group in groupby(runs, key=BATCH)] if is_joined else [[run] for run in runs]
    return [
        {
            "batch_id": group[0].batch_id,
            "first_code": group[0].first_code,
            "last_code": group[-1].last_code,
            "codes": sum(run.codes for run in group),
        }
        for group in groups
    ]
