"""Every address of the service."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import include, path, register_converter
from django.views.generic import RedirectView

from authcodes.api import codes, data_exports, fake_reports, qr_images, scans
from brands.tenants.hostnames import brand_of
from brands.tenants.picture_view import PictureFile
from campaigns.api import campaign_event, campaigns, events, reward_claims
from config import health, metrics
from core.api.openapi import views
from loyalty.api import (
    email_change,
    members,
    notification_links,
    passkit,
    passwords,
    points,
    profile,
    push_devices,
    redemptions,
    registration,
    rewards,
    sessions,
    till,
    wallets,
)
from scanpage import reward_code, theme, wallet
from scanpage.assets import asset
from scanpage.confirmation import ChangeEmailPage, ConfirmEmailPage, ConfirmRegistrationPage
from scanpage.password_reset import NewPasswordPage
from scanpage.profile import ProfilePage
from scanpage.session import Session
from scanpage.views import ScanPage


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


class GtinConverter:
    regex = r"[0-9]{8,14}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


register_converter(ScannedConverter, "scanned")
register_converter(CodeConverter, "code")


register_converter(IdConverter, "id")
register_converter(GtinConverter, "gtin")


def home(request: HttpRequest) -> HttpResponse:
    """Customers find their brand's page, staff the portal."""
    return redirect("scan-home" if brand_of(request) else "admin:index")


def no_icon(_request: HttpRequest) -> HttpResponse:
    """Browsers ask whether a page names one or not."""
    return HttpResponse(status=204)


# Django tries them one after the other: first what is asked for most.
api = [
    path("verify/product/<scanned:auth_code>", scans.VerifyProduct.as_view()),
    path("auth-codes/scan", scans.ScanCode.as_view()),
    path("auth/token", sessions.Login.as_view()),
    path("auth/token/refresh", sessions.Refresh.as_view()),
    path("auth/token/revoke", sessions.Revoke.as_view()),
    path("auth/register", registration.Register.as_view()),
    path("auth/register/confirm", registration.ConfirmRegistration.as_view()),
    path("auth/email/verification", registration.SendVerification.as_view()),
    path("auth/email/verification/confirm", registration.ConfirmVerification.as_view()),
    path("auth/email/change", email_change.EmailChange.as_view()),
    path("auth/email/change/confirm", email_change.ConfirmEmailChange.as_view()),
    path("auth/password/forgot", passwords.ForgotPassword.as_view()),
    path("auth/password/reset", passwords.ResetPassword.as_view()),
    path("brand/loyalty/campaign/event", campaign_event.CampaignEvent.as_view()),
    path("events", events.Ingest.as_view()),
    path("customer/loyalty/points", points.Points.as_view()),
    path("customer/loyalty/transactions", points.Transactions.as_view()),
    path("customer/devices", push_devices.Devices.as_view()),
    path("customer", profile.Me.as_view()),
    path("customer/data", data_exports.DataExportFile.as_view(), name="data-export-file"),
    path("customer/data-export", data_exports.DataExports.as_view()),
    path("customer/profile", profile.ProfileView.as_view()),
    path("customer/loyalty/campaigns", campaigns.Campaigns.as_view()),
    path("customer/loyalty/rewards", rewards.Rewards.as_view()),
    path("customer/wallet", wallets.Wallets.as_view()),
    path("customer/wallet/apple", wallets.ApplePass.as_view()),
    path("customer/wallet/google", wallets.GooglePass.as_view()),
    path("customer/loyalty/rewards/<id:reward_id>/redeem", redemptions.Redeem.as_view()),
    path("customer/loyalty/milestones/<id:milestone_id>/claim", reward_claims.Claim.as_view()),
    path("customer/loyalty/rewards/<id:milestone_id>/claim", reward_claims.ClaimAsReward.as_view()),
    path("customer/loyalty/redemptions", redemptions.Redemptions.as_view()),
    path("customer/loyalty/redemptions/<id:redemption_id>/undo", redemptions.Undo.as_view()),
    path("fake-reports", fake_reports.FakeReports.as_view()),
    path("members", members.Members.as_view()),
    path("members/<id:user_id>", members.MemberView.as_view()),
    path("redemptions/check", till.CheckRedemption.as_view()),
    path("redemptions/use", till.UseRedemption.as_view()),
    path("batch-ranges/<id:batch_id>/qr-codes", codes.BatchQrCodes.as_view()),
    path("auth-codes/validate", scans.ValidateCode.as_view()),
    path("auth-codes/<code:code>/scans", codes.CodeScans.as_view()),
    path("scans/<uuid:scan_id>", scans.ScanState.as_view()),
    path("scans/<uuid:scan_id>/adopt", scans.AdoptScan.as_view()),
    path("scans/<uuid:scan_id>/place", scans.PlaceScan.as_view()),
    path("qr-codes/<code:code>.png", qr_images.PngImage.as_view(), name="qr-image-png"),
    path("qr-codes/<code:code>.svg", qr_images.SvgImage.as_view(), name="qr-image-svg"),
]

# Apple's addresses: a pass names the place before v1, the rest is Apple's.
passkit_service = [
    path("devices/<code:device>/registrations/<code:pass_type>/<code:serial>", passkit.Registration.as_view()),
    path("devices/<code:device>/registrations/<code:pass_type>", passkit.Changes.as_view()),
    path("passes/<code:pass_type>/<code:serial>", passkit.LatestPass.as_view()),
    path("log", passkit.DeviceLog.as_view()),
]

# What stands behind a printed code, on a brand's own hostname.
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
    path("page/wallet/apple", wallet.apple),
    path("page/reward/<id:redemption>.svg", reward_code.picture),
    path("page/wallet/google", wallet.google),
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
