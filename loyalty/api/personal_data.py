"""A customer's own data is erased."""

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from brands.audit_log import AuditContext
from brands.identity import login_throttle
from brands.identity.authentication import changing_own_brand, principal_of
from brands.models.people import User
from core.api.inputs import Input
from core.api.openapi.endpoint import BEARER, endpoint
from core.redis import rate_limits
from core.web import client_address
from loyalty.members import erasure


class ErasureInput(Input):
    password = serializers.CharField(max_length=256, trim_whitespace=False)


class Me(APIView):
    """The customer, at the token's brand."""

    @endpoint(
        "erase_me",
        tag="Account",
        summary="Erase my data",
        needs=[BEARER],
        calls=[erasure.erase_own],
        request=ErasureInput,
        responses={204: None},
    )
    @changing_own_brand
    def delete(self, request: Request) -> Response:
        """Leave the token's brand: name, addresses, devices, passes and places go, for good.

        The ledger keeps its amounts under a pseudonym. Points are lost, and every session ends. Who is a customer of
        other brands stays so. A wrong password counts as a failed login.
        """
        principal = principal_of(request)
        network, door = client_address.client_address(request), login_throttle.at_brand(principal.brand_id)
        rate_limits.hit("login_address", network)
        rate_limits.hit("login", "address", door, network)
        given = ErasureInput.parse(request.data)
        email = User.objects.values_list("email", flat=True).get(pk=principal.user_id)
        session = principal.session or f"user {principal.user_id}"
        attempt = login_throttle.begin(door=door, email=email, network=network, session=session)
        deed = AuditContext(None, timezone.now(), getattr(request, "request_id", ""))
        erasure.erase_own(user_id=principal.user_id, brand_id=principal.brand_id, password=given["password"], deed=deed)
        attempt.succeeded()
        return Response(status=204)
