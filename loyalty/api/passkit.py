"""Apple's PassKit web service, which devices with a pass call. Apple defines the URLs and responses.

The pass's own token authorises a device. An unknown pass is answered with 404 before the token is compared.
"""

import hmac
import logging
import re
from datetime import datetime
from typing import Any
from uuid import UUID

from django.core.exceptions import ImproperlyConfigured, RequestDataTooBig
from django.http import HttpResponse
from django.utils import timezone
from django.utils.http import http_date, parse_http_date_safe
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from core.api.file_views import FileView
from core.api.inputs import Input
from core.api.tokenless_views import TokenlessView
from core.errors import NotFound, Unavailable
from core.redis import rate_limits
from core.web import client_address
from loyalty.models.wallets import WalletPass
from loyalty.wallets import devices, passes, renders
from loyalty.wallets.apple import packages
from loyalty.wallets.errors import PassTokenInvalid, WalletUnavailable

logger = logging.getLogger(__name__)

MAX_BODY_BYTES = 50_000  # bytes; a registration takes a hundred, a log a few lines
LATER_SECONDS = 3600
LINES, LINE_LENGTH = 20, 500
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


class RegistrationInput(Input):
    pushToken = serializers.RegexField(r"^[0-9A-Za-z]{8,256}$")  # noqa: N815 - Apple's name


class LogInput(Input):
    logs = serializers.ListField(child=serializers.CharField(max_length=20_000, allow_blank=True), max_length=1000)


class PassKit(TokenlessView, FileView):
    """Shared by Apple's endpoints: they know passes, not users."""

    schema = None  # Apple defines the protocol

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        length = str(request.META.get("CONTENT_LENGTH") or 0)
        if length.isdecimal() and int(length) > MAX_BODY_BYTES:
            raise RequestDataTooBig
        super().initial(request, *args, **kwargs)
        address = client_address.client_address(request)
        rate_limits.hit("wallet_address", address)  # a device id is unverified, so the network counts too
        rate_limits.hit("wallet", kwargs.get("device") or address)


def pass_of(request: Request, pass_type: str, serial: str) -> WalletPass:
    """The pass in the URL, for a device that has the pass's token. Raises PassTokenInvalid and NotFound."""
    scheme, _, token = request.META.get("HTTP_AUTHORIZATION", "").strip().partition(" ")
    if scheme.lower() != "applepass" or not token:
        raise PassTokenInvalid
    try:
        result = passes.of_serial(serial=UUID(serial), identifier=pass_type)
    except ValueError:
        result = None
    except ImproperlyConfigured as error:
        raise unavailable(error) from error
    if result is None:
        raise NotFound
    if not hmac.compare_digest(result.token.encode(), token.strip().encode()):
        raise PassTokenInvalid
    return result


def unavailable(error: Exception) -> Unavailable:
    """Staff must act. Until then the device keeps its pass and asks again later."""
    logger.error("A pass cannot be made: %s", error)
    return Unavailable(retry_after=LATER_SECONDS)


class Registration(PassKit):
    """POST and DELETE v1/devices/{device}/registrations/{pass type}/{serial}."""

    def post(self, request: Request, device: str, pass_type: str, serial: str) -> Response:
        """Return 201 for a new registration, and 200 for a known one, whose push token is replaced."""
        result = pass_of(request, pass_type, serial)
        token = RegistrationInput.parse(request.data)["pushToken"]
        is_new = devices.register(wallet_pass=result, device=device, push_token=token, at=timezone.now())
        return Response(status=201 if is_new else 200)

    def delete(self, request: Request, device: str, pass_type: str, serial: str) -> Response:
        """Return 200 even if the device was not registered."""
        devices.unregister(wallet_pass=pass_of(request, pass_type, serial), device=device)
        return Response(status=200)


class Changes(PassKit):
    """GET v1/devices/{device}/registrations/{pass type}?passesUpdatedSince=..."""

    def get(self, request: Request, device: str, pass_type: str) -> Response:
        """The serials of the device's changed passes, or 204 if none changed. Apple sends no token here."""
        requested = request.query_params.get("passesUpdatedSince", "")
        serials, tag = devices.changed_since(device=device, identifier=pass_type, tag=requested)
        if not serials:
            return Response(status=204)
        return Response({"serialNumbers": serials, "lastUpdated": tag})


class LatestPass(PassKit):
    """GET v1/passes/{pass type}/{serial}."""

    def get(self, request: Request, pass_type: str, serial: str) -> HttpResponse:
        """The current pass, or 304 if the device has this version."""
        result, now = pass_of(request, pass_type, serial), timezone.now()
        headers = {"Last-Modified": http_date(result.changed_at.timestamp()), "Cache-Control": "private, no-cache"}
        if is_known(request, result.changed_at):
            passes.mark_fetched(wallet_pass=result, at=now)
            return HttpResponse(status=304, headers=headers)
        try:
            content = renders.apple_package(wallet_pass=result, at=now)
        except WalletUnavailable as error:
            raise unavailable(error) from error
        passes.mark_fetched(wallet_pass=result, at=now)
        return HttpResponse(content, content_type=packages.CONTENT_TYPE, headers=headers)


def is_known(request: Request, changed_at: datetime) -> bool:
    since = parse_http_date_safe(request.META.get("HTTP_IF_MODIFIED_SINCE", ""))
    return since is not None and int(changed_at.timestamp()) <= since


class DeviceLog(PassKit):
    """POST v1/log: problems that devices report."""

    def post(self, request: Request) -> Response:
        """Log a few short lines only, because anyone can send this."""
        for line in LogInput.parse(request.data)["logs"][:LINES]:
            logger.warning("A device says: %s", UNPRINTABLE.sub(" ", line)[:LINE_LENGTH])
        return Response(status=200)
