"""The session for scripts: they get short-lived access tokens; the refresh token stays in its cookie."""

import json
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.utils import timezone, translation
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_protect

from brands.identity import api_keys
from brands.models.tenants import Brand
from brands.tenants.hostnames import brand_of
from scanpage import account
from scanpage.api_client import Answer
from scanpage.languages import language_of
from scanpage.session_cookies import PageSession

MAX_BODY_BYTES = 5_000


class Session(View):
    """`{"act": "access" | "rejected" | "log_in" | "register" | "confirm" | "log_out", ...}` from the page's scripts."""

    http_method_names = ["post"]

    @method_decorator(csrf_protect)
    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        return super().dispatch(request, *args, **kwargs)

    def post(self, request: HttpRequest) -> HttpResponse:
        brand = brand_of(request)
        if brand is None:
            return JsonResponse({"message": "There is no brand at this address."}, status=404)
        with translation.override(language_of(request)):
            page_session = PageSession.of(request, api_keys.of_scan_page(brand=brand, at=timezone.now()))
            response = self.perform(page_session, brand, read_body(request))
        page_session.finish(response)
        response.headers["Cache-Control"] = "no-store"
        return response

    def perform(self, page_session: PageSession, brand: Brand, data: dict[str, str]) -> HttpResponse:
        act = data.get("act")
        if act == "log_out":
            if failed := page_session.log_out():
                return error_response(failed)
        elif act in {"rejected", "refused"}:  # pages loaded before a release send "refused"
            page_session.renew()
        elif act in {"log_in", "register", "confirm"}:
            answer = self.authenticate(page_session, brand, act, data)
            if not answer.is_good:
                return error_response(answer)
            if waiting := answer.body.get("registration_id"):
                return JsonResponse({"registration_id": waiting})
        if page_session.failed_refresh:
            return error_response(page_session.failed_refresh)
        return JsonResponse({"access": page_session.access, "expires_in": page_session.expires_in})

    def authenticate(self, page_session: PageSession, brand: Brand, act: str, data: dict[str, str]) -> Answer:
        """Log in, register, or confirm a registration, as `act` says."""
        email, password = data.get("email", ""), data.get("password", "")
        if act == "register":
            if account.lacks_consent(brand, page_session, data):
                return account.no_consent()
            return page_session.register(
                email, password, account.registration_data(data), consented=bool(data.get("consented"))
            )
        if act == "confirm":
            return page_session.confirm({name: data.get(name, "") for name in ("registration_id", "code")})
        return page_session.log_in(email, password)


def error_response(answer: Answer) -> JsonResponse:
    return JsonResponse({"error": answer.error, "message": account.error_text(answer)}, status=answer.status)


def read_body(request: HttpRequest) -> dict[str, str]:
    """The string values of the JSON object in the body; empty for any other body."""
    if len(request.body) > MAX_BODY_BYTES:
        return {}
    try:
        data = json.loads(request.body)
    except (ValueError, RecursionError):
        return {}
    return {name: value for name, value in data.items() if isinstance(value, str)} if isinstance(data, dict) else {}
