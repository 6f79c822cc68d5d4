"""Events of the hub, by HTTP."""

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from brands.errors import BrandMismatch
from brands.identity.api_keys import Caller
from brands.identity.authentication import for_brand_of_key
from brands.tenants import quotas
from campaigns.intake.envelope import EnvelopeInput, store_event
from core.api.openapi.endpoint import KEY, endpoint
from core.api.outputs import Output
from core.errors import Forbidden


class IngestedOutput(Output):
    event_id = serializers.UUIDField()
    status = serializers.ChoiceField(choices=["accepted", "duplicate"])


class Ingest(APIView):
    """Take an event in from the hub. It is stored before the answer goes out, and delivered from there."""

    authentication_classes = ()
    permission_classes = ()

    @endpoint(
        "ingest_event",
        tag="Points",
        summary="Hand in an event",
        needs=[KEY],
        calls=[store_event],
        raises=[Forbidden, BrandMismatch],
        request=EnvelopeInput,
        responses={202: IngestedOutput},
    )
    @for_brand_of_key
    def post(self, request: Request, caller: Caller) -> Response:
        """Store an event, to be worked on a moment later. Needs a hub key.

        Kinds that earn: `scan-auth`, `order-complete`, `log-user-profile-update` and `log-user-login`, each with its
        payload; any other kind is kept and credits nothing. An `id` is taken in once per source: again, the answer is
        `duplicate`. `detail.arguments.authorization` is verified and then dropped; it is stored nowhere.
        """
        if not caller.is_hub:
            raise Forbidden("Events are taken from hub keys only.")
        envelope = EnvelopeInput.parse(request.data)
        if envelope["detail"]["arguments"]["brand_id"] != caller.brand_id:
            raise BrandMismatch
        quotas.count_event(caller.brand_id)
        is_new = store_event(envelope)
        stored = {"event_id": envelope["id"], "status": "accepted" if is_new else "duplicate"}
        return Response(IngestedOutput.serialize(stored), status=202)
