"""All URLs of the service."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import include, path
from django.views.generic import RedirectView

from brands.tenants.hostnames import brand_of
from brands.tenants.picture_view import PictureFile
from config import health, metrics
from core.api.openapi import views
from loyalty.api import notification_links, wallets
from loyalty.api.urls import passkit_service
from scanpage import customer_files, theme
from scanpage.assets import asset
from scanpage.confirmation import ChangeEmailPage, ConfirmEmailPage, ConfirmRegistrationPage, NewPasswordPage
from scanpage.legal import LegalPage
from scanpage.profile import ProfilePage
from scanpage.session import Session
from scanpage.views import ScanPage


def home(request: HttpRequest) -> HttpResponse:
    """Redirect customers to their brand's page, and staff to the portal."""
    return redirect("scan-home" if brand_of(request) else "admin:index")


def no_icon(_request: HttpRequest) -> HttpResponse:
    """Browsers request an icon even if the page names none."""
    return HttpResponse(status=204)


# Django tries them in order, so the most requested come first.
api = [
    path("", include("authcodes.api.urls")),
    path("", include("campaigns.api.urls")),
    path("", include("loyalty.api.urls")),
    path("", include("jobs.api.urls")),
    path("", include("portal.api.urls")),
]

# The pages of printed codes, on a brand's own hostname.
page = [
    path("s", RedirectView.as_view(pattern_name="scan-home")),
    path("s/", ScanPage.as_view(), name="scan-home"),
    path("s/<scanned:code>", ScanPage.as_view(), name="scan-page"),
    path("01/<gtin:gtin>/21/<scanned:code>", ScanPage.as_view(), name="digital-link"),
    path("sw.js", theme.service_worker),
    path("page/assets/<slug:digest>/<path:name>", asset),
    path("page/brand.css", theme.style_sheet),
    path("page/icon-<int:size>.png", theme.icon),
    path("page/manifest.webmanifest", theme.manifest),
    path("account", ProfilePage.as_view(), name="profile"),
    path("page/session", Session.as_view()),
    path("page/wallet/apple", customer_files.apple),
    path("page/reward/<id:redemption>.svg", customer_files.reward_code),
    path("page/wallet/google", customer_files.google),
    path("legal/<slug:kind>", LegalPage.as_view(), name="legal"),
    path("page/data", customer_files.own_data),
    path("register/confirm/<str:token>", ConfirmRegistrationPage.as_view(), name="confirm-registration"),
    path("email/confirm/<str:token>", ConfirmEmailPage.as_view(), name="confirm-email"),
    path("email/change/<str:token>", ChangeEmailPage.as_view(), name="change-email"),
    path("password/new/<str:token>", NewPasswordPage.as_view(), name="new-password"),
]

urlpatterns = [
    path("api/v1/", include(api)),
    path("", home),
    *page,
    path("favicon.ico", no_icon),
    path("admin/", admin.site.urls),
    path("pictures/<uuid:picture_id>/small", PictureFile.as_view(), {"size": "small"}, name="small-picture"),
    path("pictures/<uuid:picture_id>/large", PictureFile.as_view(), {"size": "large"}, name="large-picture"),
    path("wallets/apple/v1/", include(passkit_service)),
    path("wallets/logos/<id:brand_id>/<slug:name>.png", wallets.GoogleLogo.as_view()),
    path("notices/opt-out/<str:token>", notification_links.OptOut.as_view(), name="opt-out"),
    path("notices/acknowledge/<str:token>", notification_links.Acknowledge.as_view(), name="acknowledge"),
    path("api/schema", views.Schema.as_view(), name="schema"),
    path("api/docs", views.TryOut.as_view(), name="docs"),
    path("healthz", health.Alive.as_view()),
    path("readyz", health.Ready.as_view()),
    path("metrics", metrics.scrape),
]

handler400 = "core.api.exception_handler.handler400"
handler403 = "core.api.exception_handler.handler403"
handler404 = "core.api.exception_handler.handler404"
handler500 = "core.api.exception_handler.handler500"
