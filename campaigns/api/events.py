"""Receives the hub's events over HTTP."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from brands.errors import BrandMismatch
from brands.identity.api_keys import Caller
from brands.identity.authentication import for_brand_of_hub
from brands.models.credentials import ApiKey
from brands.tenants import quotas
from campaigns.intake.envelope import EnvelopeInput, store_event
from core.api.openapi.endpoint import KEY, endpoint
from core.api.openapi.examples import answer_example, request_example
from core.api.openapi.shared_examples import ACCESS, ORDER, PLACE, SCANNED_PRODUCT, WHEN
from core.api.outputs import Output
from core.api.tokenless_views import TokenlessView

EVENT_ID = "3c4f2a1e-9d7b-4f60-8a3e-2b1c0d9e8f7a"


def example_envelope(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    """The envelope of an event; the token may be left out."""
    return {
        "version": "0",
        "id": EVENT_ID,
        "detail-type": kind,
        "source": "shop.customer-app",
        "account": "123456789012",
        "time": "2026-03-14T09:26:53Z",
        "region": "eu-central-1",
        "resources": [],
        "detail": {
            "arguments": {"brand_id": 7, "user_id": 42, "authorization": f"Bearer {ACCESS}"},
            "payload": payload,
        },
    }


class IngestedOutput(Output):
    event_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=["accepted", "duplicate"])


INGEST_EVENT_EXAMPLES = [
    request_example(
        "scan-auth",
        example_envelope(
            "scan-auth",
            {
                "type": "authenticator_scan",
                "product": SCANNED_PRODUCT,
                "location": {**PLACE, "city": "Bern", "region": "Canton of Bern"},
                "timestamp": WHEN,
            },
        ),
    ),
    request_example(
        "order-complete", example_envelope("order-complete", {"type": "order", "order": ORDER, "timestamp": WHEN})
    ),
    request_example(
        "log-user-profile-update",
        example_envelope(
            "log-user-profile-update",
            {"type": "profile", "changedFields": ["birthday"], "completedFields": ["birthday"]},
        ),
    ),
    request_example(
        "log-user-login", example_envelope("log-user-login", {"type": "login", "sessionId": "b2f3", "channel": "web"})
    ),
    request_example(
        "One of the brand's own kinds",
        example_envelope("store-visit", {"store": "Bern", "minutes": 25}),
    ),
    answer_example("Accepted", {"event_id": EVENT_ID, "status": "accepted"}),
    answer_example("Duplicate", {"event_id": EVENT_ID, "status": "duplicate"}),
]


class Ingest(TokenlessView):
    """Receive an event from the hub. It is stored before the answer is sent, and delivered afterwards."""

    @endpoint(
        "ingest_event",
        tag="Points",
        summary="Send an event",
        needs=[KEY],
        calls=[Caller.require, store_event],
        raises=[BrandMismatch],
        request=EnvelopeInput,
        responses={202: IngestedOutput},
        examples=INGEST_EVENT_EXAMPLES,
    )
    @for_brand_of_hub(ApiKey.Scope.EVENTS)
    def post(self, request: Request, caller: Caller) -> Response:
        """Store an event, which is processed a moment later. Needs a hub key with the scope `events`.

        These kinds earn points: `scan-auth`, `order-complete`, `log-user-profile-update`, `log-user-login`, and those
        that the brand has registered (`GET /brand/event-kinds`). `order-returned`, `order-cancelled` and
        `order-delivered` reverse or release the points of an order. The payloads of all these kinds are validated, and
        unknown fields are dropped. Any other kind is stored and credits nothing.

        An `id` is accepted once per source; if it is sent again, `status` is `duplicate`.
        `detail.arguments.authorization` is verified and then dropped; it is never stored.
        """
        envelope = EnvelopeInput.parse(request.data)
        if envelope["detail"]["arguments"]["brand_id"] != caller.brand_id:
            raise BrandMismatch
        quotas.count_event(caller.brand_id)
        is_new = store_event(envelope)
        stored = {"event_id": envelope["id"], "status": "accepted" if is_new else "duplicate"}
        return Response(IngestedOutput.serialize(stored), status=202)
