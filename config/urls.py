"""Every address of the service."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import include, path, register_converter

from authcodes.views import codes, scans
from config import docs, health
from loyalty.views import account, events, sessions


class ScannedConverter:
    """A code or a whole scanned address in a path: anything a path can hold but control characters."""

    regex = r"[^\x00-\x1f\x7f]{1,600}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class CodeConverter(ScannedConverter):
    regex = r"[^\x00-\x1f\x7f/]{1,200}"


class IdConverter:
    """A row's number; one that no row can have finds no address."""

    regex = r"[0-9]{1,18}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(value)


register_converter(ScannedConverter, "scanned")
register_converter(CodeConverter, "code")
register_converter(IdConverter, "id")


def home(_request: HttpRequest) -> HttpResponse:
    return redirect("admin:index")


def no_icon(_request: HttpRequest) -> HttpResponse:
    """Browsers ask whether a page names one or not."""
    return HttpResponse(status=204)


api = [
    path("auth/token", sessions.Login.as_view()),
    path("auth/token/refresh", sessions.Refresh.as_view()),
    path("auth/token/revoke", sessions.Revoke.as_view()),
    path("auth/register", sessions.Register.as_view()),
    path("brand/loyalty/campaign/event", events.CampaignEvent.as_view()),
    path("events", events.Ingest.as_view()),
    path("verify/product/<scanned:auth_code>", scans.VerifyProduct.as_view()),
    path("customer/loyalty/points", account.Points.as_view()),
    path("customer/loyalty/transactions", account.Transactions.as_view()),
    path("batch-ranges/<id:batch_id>/qr-codes", codes.BatchQrCodes.as_view()),
    path("auth-codes/validate", scans.ValidateCode.as_view()),
    path("auth-codes/scan", scans.ScanCode.as_view()),
    path("auth-codes/<code:code>/scans", codes.CodeScans.as_view()),
    path("scans/<uuid:scan_id>", scans.ScanState.as_view()),
    path("qr-codes/<code:code>.png", codes.QrImage.as_view(), name="qr-image"),
]

urlpatterns = [
    path("", home),
    path("favicon.ico", no_icon),
    path("admin/", admin.site.urls),
    path("api/v1/", include(api)),
    path("api/schema", docs.Schema.as_view(), name="schema"),
    path("api/docs", docs.TryOut.as_view(), name="docs"),
    path("healthz", health.Alive.as_view()),
    path("readyz", health.Ready.as_view()),
]

handler400 = "config.api.handler400"
handler403 = "config.api.handler403"
handler404 = "config.api.handler404"
handler500 = "config.api.handler500"
