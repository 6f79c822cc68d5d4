"""What the scan endpoint is measured against: a view that does nothing, and one written plainly with the ORM."""

from types import SimpleNamespace
from typing import Any

from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from bench import orm
from brands import tokens
from brands.authentication import bearer
from brands.models import User
from brands.refusals import TokenInvalid
from loyalty.payloads import LocationInput


class StatelessBearer(BaseAuthentication):
    """Reads the token and believes it: no look at the database."""

    def authenticate(self, request: Request) -> tuple[Any, tokens.Principal]:
        principal = tokens.read_access(bearer(request.META.get("HTTP_AUTHORIZATION", "")))
        return SimpleNamespace(pk=principal.user_id, is_authenticated=True), principal


class OrmBearer(BaseAuthentication):
    """Reads the token and loads its user."""

    def authenticate(self, request: Request) -> tuple[User, tokens.Principal]:
        principal = tokens.read_access(bearer(request.META.get("HTTP_AUTHORIZATION", "")))
        try:
            return User.objects.get(pk=principal.user_id, is_active=True), principal
        except User.DoesNotExist as error:
            raise TokenInvalid from error


class Empty(APIView):
    """The least an authenticated endpoint can do: token, input serializer, a small answer. No database."""

    authentication_classes = (StatelessBearer,)

    def post(self, request: Request, code: str) -> Response:
        place = LocationInput.parse(request.data)
        return Response({"success": True, "code": code, "user_id": request.user.pk, "place": place})


class OrmScan(APIView):
    """A scan as one writes it first; no rate limit."""

    authentication_classes = (OrmBearer,)

    def post(self, request: Request, code: str) -> Response:
        place = LocationInput.parse(request.data)
        return Response(orm.scan(code=code, user=request.user, brand_id=request.auth.brand_id, place=place))
