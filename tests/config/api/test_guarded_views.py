"""The rows that each view may use. A new view that runs without the database's guard fails here until it is listed."""

from django.urls import URLPattern, get_resolver
from django.views.generic import RedirectView

from core.db import row_guard

SAFE = ("head", "options", "trace")
BEFORE_LOGIN = "Says who asks: before it, nobody knows whose rows may be seen."
SCAN = "The scan's own statements, by a code that is unique in the installation, for guests and for codes of any brand."
ACCRUAL = "The accrual's own statements, as the worker runs them."
CAPABILITY = "The address is its own permission: it carries a signature or a secret of a row's own, and names one row."
ACCOUNT = "An account is its person's at every brand: its address is compared with those of all accounts."
CALLS = "Reads no row but the brand of the hostname; the rest it asks of the API, with the visitor's token and key."
PUBLIC = "What a brand publishes on its page or in passes, the same for everybody."
OWN_LANGUAGE = "Sets a cookie, and in which language somebody reads the portal: a person's, at every brand."
OPERATOR = "For operators and for programs that watch: no brand's rows."
# Each method of a view that runs without the guard, and the reason.
UNGUARDED = {
    "api/v1/verify/product/<scanned:auth_code> post": SCAN,
    "api/v1/auth-codes/scan post": SCAN,
    "api/v1/auth-codes/validate post": SCAN,
    "api/v1/scans/<uuid:scan_id> get": SCAN,
    "api/v1/scans/<uuid:scan_id>/adopt post": SCAN,
    "api/v1/scans/<uuid:scan_id>/place post": SCAN,
    "api/v1/brand/loyalty/campaign/event post": ACCRUAL,
    "api/v1/fake-reports post": SCAN,
    "api/v1/auth/email/change post": ACCOUNT,
    "api/v1/auth/email/change/confirm post": ACCOUNT,
    "api/v1/auth/token post": BEFORE_LOGIN,
    "api/v1/auth/token/refresh post": BEFORE_LOGIN,
    "api/v1/auth/token/revoke post": BEFORE_LOGIN,
    "api/v1/auth/register post": BEFORE_LOGIN,
    "api/v1/auth/register/confirm post": BEFORE_LOGIN,
    "api/v1/auth/email/verification post": BEFORE_LOGIN,
    "api/v1/auth/email/verification/confirm post": BEFORE_LOGIN,
    "api/v1/auth/password/forgot post": BEFORE_LOGIN,
    "api/v1/auth/password/reset post": BEFORE_LOGIN,
    "api/v1/qr-codes/<code:code>.png get": CAPABILITY,
    "api/v1/qr-codes/<code:code>.svg get": CAPABILITY,
    " any": PUBLIC,
    "s/ get": CALLS,
    "s/ post": CALLS,
    "s/<scanned:code> get": CALLS,
    "s/<scanned:code> post": CALLS,
    "01/<gtin:gtin>/21/<scanned:code> get": CALLS,
    "01/<gtin:gtin>/21/<scanned:code> post": CALLS,
    "account get": CALLS,
    "account post": CALLS,
    "email/change/<str:token> get": CALLS,
    "email/change/<str:token> post": CALLS,
    "page/session post": CALLS,
    "page/data any": CALLS,
    "api/v1/legal-texts get": PUBLIC,
    "legal/<slug:kind> get": PUBLIC,
    "page/reward/<id:redemption>.svg any": CALLS,
    "page/wallet/apple any": CALLS,
    "page/wallet/google any": CALLS,
    "register/confirm/<str:token> get": CALLS,
    "register/confirm/<str:token> post": CALLS,
    "email/confirm/<str:token> get": CALLS,
    "email/confirm/<str:token> post": CALLS,
    "password/new/<str:token> get": CALLS,
    "password/new/<str:token> post": CALLS,
    "favicon.ico any": PUBLIC,
    "sw.js any": PUBLIC,
    "page/assets/<slug:digest>/<path:name> any": PUBLIC,
    "page/brand.css any": PUBLIC,
    "page/icon-<int:size>.png any": PUBLIC,
    "page/manifest.webmanifest any": PUBLIC,
    "pictures/<uuid:picture_id>/small get": PUBLIC,
    "pictures/<uuid:picture_id>/large get": PUBLIC,
    "wallets/logos/<id:brand_id>/<slug:name>.png get": PUBLIC,
    "wallets/apple/v1/devices/<code:device>/registrations/<code:pass_type>/<code:serial> post": CAPABILITY,
    "wallets/apple/v1/devices/<code:device>/registrations/<code:pass_type>/<code:serial> delete": CAPABILITY,
    "wallets/apple/v1/devices/<code:device>/registrations/<code:pass_type> get": CAPABILITY,
    "wallets/apple/v1/passes/<code:pass_type>/<code:serial> get": CAPABILITY,
    "wallets/apple/v1/log post": OPERATOR,
    "notices/opt-out/<str:token> get": CAPABILITY,
    "notices/opt-out/<str:token> post": CAPABILITY,
    "notices/acknowledge/<str:token> get": CAPABILITY,
    "notices/acknowledge/<str:token> post": CAPABILITY,
    "admin/login/ any": BEFORE_LOGIN,
    "admin/language/ any": OWN_LANGUAGE,
    "admin/password/forgot/ any": BEFORE_LOGIN,
    "admin/password/forgot/sent/ any": BEFORE_LOGIN,
    "admin/password/new/<str:token>/ any": BEFORE_LOGIN,
    "admin/second-factor/ any": BEFORE_LOGIN,
    "admin/second-factor/set-up/ any": BEFORE_LOGIN,
    "admin/second-factor/remove/<str:token>/ any": CAPABILITY,
    "admin/invitation/<str:token>/ any": CAPABILITY,
    "admin/sign-in/<slug:slug>/ any": BEFORE_LOGIN,
    "admin/sign-in/<slug:slug>/done/ any": BEFORE_LOGIN,
    "api/schema get": PUBLIC,
    "api/docs get": PUBLIC,
    "healthz get": OPERATOR,
    "readyz get": OPERATOR,
    "metrics any": OPERATOR,
}


def views():
    """{URL and method of each view: the kind of guard that it runs under, or an empty text}."""
    guard_by_view = {}
    for address, pattern in patterns(get_resolver().url_patterns):
        view = pattern.callback
        view_class = getattr(view, "cls", None) or getattr(view, "view_class", None)
        if view_class is RedirectView and not hasattr(view, "model_admin"):
            continue  # redirects to another view of this list
        if view_class is None or hasattr(view, "model_admin"):
            by_portal = hasattr(view, "admin_site") or hasattr(
                view, "model_admin"
            )  # Django's admin wraps its own views
            guard_by_view[f"{address} any"] = row_guard.OF_STAFF if by_portal else getattr(view, "runs_under", "")
            continue
        for name in view_class.http_method_names:
            method = getattr(view_class, name, None)
            if method and name not in SAFE:
                guard_by_view[f"{address} {name}"] = getattr(method, "runs_under", "")
    return guard_by_view


def patterns(url_patterns, prefix=""):
    for pattern in url_patterns:
        address = prefix + str(pattern.pattern)
        if isinstance(pattern, URLPattern):
            yield address, pattern
        else:
            yield from patterns(pattern.url_patterns, address)


def test_every_view_runs_under_the_guard_or_is_listed_with_a_reason():
    unguarded = {view for view, guard in views().items() if not guard}

    assert unguarded - set(UNGUARDED) == set(), "Give it for_own_brand, changing_own_brand or for_brand_of_key."
    assert set(UNGUARDED) - unguarded == set(), "It runs under the guard now, or is gone."


def test_every_kind_of_caller_has_views_under_the_guard():
    kinds = views().values()

    assert {row_guard.OF_CUSTOMER, row_guard.OF_BRAND, row_guard.OF_STAFF} <= set(kinds)
