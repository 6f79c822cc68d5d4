"""Members as the brand's own systems make them: enrolment by the hub."""

from typing import Any

from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from brands.audit import Deed
from brands.authentication import for_brand_of_key
from brands.inputs import Input
from brands.keys import Caller
from brands.models import Brand
from brands.openapi import KEY, endpoint
from brands.refusals import Forbidden, Invalid
from loyalty import enrolment
from loyalty.events import iso


class EnrolmentInput(Input):
    user_id = serializers.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    email = serializers.EmailField(required=False, max_length=254, help_text="Instead of `user_id`.")


class EnrolmentData(serializers.Serializer[Any]):
    user_id = serializers.IntegerField()
    user_point_id = serializers.IntegerField(help_text="The member's account.")
    enrolled_at = serializers.DateTimeField()
    created = serializers.BooleanField(help_text="False: the customer was a member before.")


class EnrolmentOutput(serializers.Serializer[Any]):
    success = serializers.BooleanField()
    data = EnrolmentData()  # type: ignore[assignment]


class Members(APIView):
    """The brand's members."""

    authentication_classes = ()
    permission_classes = ()

    @endpoint(
        "enrol_member",
        tag="Account",
        summary="Enrol a customer",
        needs=[KEY],
        errors=["API_KEY_INVALID", "FORBIDDEN", "USER_NOT_FOUND", "RATE_LIMITED"],
        request=EnrolmentInput,
        responses={200: EnrolmentOutput, 201: EnrolmentOutput},
    )
    @for_brand_of_key
    def post(self, request: Request, caller: Caller) -> Response:
        """Make a customer who registered with the brand a member of its programme. Needs a hub key.

        For brands that do not enrol automatically. Asked again, this answers the same with 200. Who did not register
        with the brand is unknown to it, customers of other brands too.
        """
        if not caller.is_hub:
            raise Forbidden("Only a hub key may enrol customers.")
        given = EnrolmentInput.parse(request.data)
        user_id, email = given.get("user_id"), given.get("email")
        if (user_id is not None) == bool(email):
            raise Invalid("Send either user_id or email.", details={"field": "user_id"})
        deed = Deed(None, timezone.now(), getattr(request, "request_id", ""), f"API key {caller.key_id}")
        brand = Brand.objects.get(pk=caller.brand_id)
        member, created = enrolment.enrol_one(brand=brand, deed=deed, user_id=user_id, address=email or "")
        data = {
            "user_id": member.user_id,
            "user_point_id": member.pk,
            "enrolled_at": iso(member.enrolled_at),
            "created": created,
        }
        return Response({"success": True, "data": data}, status=201 if created else 200)
