"""The baselines of the scan endpoint: a view that does nothing, and one in plain ORM."""

from typing import Any

from rest_framework import serializers
from rest_framework.authentication import BaseAuthentication
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.parsers import JSONParser
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView
from rest_framework_simplejwt.authentication import JWTStatelessUserAuthentication

from bench import orm
from brands.identity import tokens
from brands.identity.authentication import UnseenBearer, bearer
from brands.models.people import User
from campaigns.intake.payloads import LocationInput
from core.errors import TokenInvalid


class OrmBearer(BaseAuthentication):
    """Reads the token and loads its user."""

    def authenticate(self, request: Request) -> tuple[User, tokens.Principal]:
        principal = tokens.verify_access(bearer(request.META.get("HTTP_AUTHORIZATION", "")))
        try:
            return User.objects.get(pk=principal.user_id, is_active=True), principal
        except User.DoesNotExist as error:
            raise TokenInvalid from error


class PlaceInput(serializers.Serializer[Any]):
    latitude = serializers.FloatField(required=False, min_value=-90, max_value=90)
    longitude = serializers.FloatField(required=False, min_value=-180, max_value=180)
    city = serializers.CharField(required=False, max_length=100)
    region = serializers.CharField(required=False, max_length=100)


class Empty(APIView):
    """The minimum of an authenticated view with DRF's and simplejwt's own parts: token, input, answer; no database."""

    authentication_classes = (JWTStatelessUserAuthentication,)
    parser_classes = (JSONParser,)
    renderer_classes = (JSONRenderer,)
    content_negotiation_class = DefaultContentNegotiation

    def post(self, request: Request, code: str) -> Response:
        place = PlaceInput(data=request.data)
        place.is_valid(raise_exception=True)
        return Response({"success": True, "code": code, "user_id": request.user.pk, "place": place.validated_data})


class LeanEmpty(APIView):
    """The same with the platform's own, cheaper parts, which the scan endpoint is built on."""

    authentication_classes = (UnseenBearer,)

    def post(self, request: Request, code: str) -> Response:
        place = LocationInput.parse(request.data)
        return Response({"success": True, "code": code, "user_id": request.user.pk, "place": place})


class OrmScan(APIView):
    """A naive implementation of a scan; no rate limit."""

    authentication_classes = (OrmBearer,)

    def post(self, request: Request, code: str) -> Response:
        place = LocationInput.parse(request.data)
        return Response(orm.scan(code=code, user=request.user, brand_id=request.auth.brand_id, place=place))
