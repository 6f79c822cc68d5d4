"""Page: the till, where staff look up a code, hand its reward over, and undo their own mistakes.

A separate screen without the portal's menus. Each response is a whole page, so it works without scripts. With scripts,
till.js replaces only the changed parts, so the camera keeps running.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from brands.identity.roles import USE, BrandScope
from core.errors import DomainError
from core.numbers import is_id
from core.web import security_headers
from loyalty.admin.till import offline
from loyalty.admin.till.answers import clock, describe
from loyalty.models.rewards import Redemption
from loyalty.rewards import cancellation
from loyalty.rewards import till as redemptions
from loyalty.rewards.undo import may_undo_use, too_late, undo_since
from portal.base.audit_mixin import audit_context
from portal.base.tenant_scope import staff_user
from portal.shell import brand_switcher
from portal.unfold import action
from scanpage import assets

MAX_RECENT = 5
# As on the scan page, plus the camera, which no other page of the portal may use.
PERMISSIONS_POLICY = "camera=(self), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"
# Own files only, no inline script or style. 'wasm-unsafe-eval' allows only the camera's decoder to be compiled.
POLICY = {
    **security_headers.NOTHING,
    "script-src": "'self' 'wasm-unsafe-eval'",
    "style-src": "'self'",
    "img-src": "'self'",
    "connect-src": "'self'",
    "manifest-src": "'self'",
    "worker-src": "'self'",
    "form-action": "'self'",
}


class CodeForm(forms.Form):
    """A code, typed or scanned."""

    code = forms.CharField(
        label=gettext_lazy("Code"),
        max_length=100,
        widget=forms.TextInput(
            attrs={
                "autofocus": True,
                "autocomplete": "off",
                "autocapitalize": "characters",
                "spellcheck": "false",
                "enterkeyhint": "go",
                "aria-describedby": "till-hint",
            }
        ),
    )


@dataclass(frozen=True, slots=True)
class RecentUse:
    """What this user handed over recently, and at what time by the brand's clock."""

    number: int
    name: str
    at: str


class Till:
    """The till, as part of the model admin of redemptions."""

    admin_site: Any
    opts: Any

    def has_use_permission(self, request: HttpRequest) -> bool:
        return bool(self.brand_scope(request, USE))  # type: ignore[attr-defined] # of TenantAdmin

    def own_views(self) -> dict[str, Any]:
        return {
            "till_codes": ("till/codes", self.till_codes),
            "till_empty": ("till/empty", self.till_empty),
            "till_worker": ("till/worker.js", offline.worker),
            "till_manifest": ("till/manifest.webmanifest", offline.manifest),
            **super().own_views(),  # type: ignore[misc] # of TenantAdmin
        }

    @action(description=gettext_lazy("Redeem a code"), url_path="till", icon="point_of_sale", permissions=["use"])
    def till(self, request: HttpRequest) -> HttpResponse:
        """Look up a code. POST can also mark it as used, or undo that."""
        scope = self.till_scope(request)
        if request.method == "POST" and "undo" in request.POST:
            return self.undo(request, scope)
        sent = request.POST if request.method == "POST" else request.GET if "code" in request.GET else None
        form, redemption = CodeForm(sent), None
        if form.is_bound and form.is_valid():
            redemption = find(form, scope)
        if redemption and request.method == "POST" and self.mark_used(request, form, redemption):
            return redirect(f"{request.path}?done={redemption.pk}")
        context = {
            "form": form,
            "done": undoable(request, scope, request.GET.get("done", "")),
            **(describe(request, redemption) if redemption else {}),
        }
        return self.till_page(request, scope, context)

    def till_page(self, request: HttpRequest, scope: BrandScope, context: dict[str, Any]) -> HttpResponse:
        at = timezone.now()
        brand = brand_switcher.context(request)["portal_brand"]
        own = self.own_uses(request, scope)
        page_context = {
            "brand": brand,
            "staff": staff_user(request),
            "here": reverse("admin:loyalty_redemption_till"),
            "camera": f"/page/assets/{assets.version()}/camera.js",
            "recent": recent(own, at),
            "today": uses_today(own, at),
        }
        return screen(request, {**page_context, **context})

    def till_empty(self, request: HttpRequest) -> HttpResponse:
        """The till as it opens without a connection. It stays on the device, so it has no personal data or messages."""
        self.till_scope(request)
        context = {
            "is_empty": True,
            "form": CodeForm(),
            "here": reverse("admin:loyalty_redemption_till"),
            "camera": f"/page/assets/{assets.version()}/camera.js",
        }
        return screen(request, context)

    def till_codes(self, request: HttpRequest) -> HttpResponse:
        """The codes for looking up without a connection."""
        scope = self.till_scope(request)
        return offline.answer(scope=scope, user=staff_user(request), at=timezone.now())

    def till_scope(self, request: HttpRequest) -> BrandScope:
        scope: BrandScope = self.brand_scope(request, USE)  # type: ignore[attr-defined] # of TenantAdmin
        if not scope:
            raise PermissionDenied
        return scope

    def own_uses(self, request: HttpRequest, scope: BrandScope) -> Any:
        rows = Redemption.objects.filter(used_by=staff_user(request), status=Redemption.Status.USED)
        return scope.of(rows, "brand").order_by("-used_at")

    def mark_used(self, request: HttpRequest, form: CodeForm, redemption: Redemption) -> bool:
        """Whether this request marked the code as used."""
        try:
            with transaction.atomic():
                redemptions.use(redemption=redemption, at=timezone.now(), by=staff_user(request), request=uuid4())
                self.record_action(request, [redemption], gettext_noop("Used at the till"))  # type: ignore[attr-defined] # of TenantAdmin
        except DomainError as error:
            form.add_error(None, error.message)
            return False
        return True

    def undo(self, request: HttpRequest, scope: BrandScope) -> HttpResponse:
        redemption = undoable(request, scope, request.POST["undo"])
        try:
            if redemption is None:
                raise too_late()
            context = audit_context(request, gettext_noop("Undone at the till."))
            cancellation.undo_use(redemption=redemption, audit_context=context)
        except DomainError as error:
            messages.error(request, error.message)
        else:
            messages.success(request, _("Undone: %(reward)s. The code is valid again.") % {"reward": redemption.name})
        return redirect(request.path)


def screen(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    response = TemplateResponse(request, "admin/loyalty/till.html", context)
    response.headers["Permissions-Policy"] = PERMISSIONS_POLICY
    response.headers["Content-Security-Policy"] = security_headers.written(POLICY)
    return response


def find(form: CodeForm, scope: BrandScope) -> Redemption | None:
    try:
        brands = None if scope.everywhere else scope.brand_ids
        return redemptions.find(brand_ids=brands, text=form.cleaned_data["code"])
    except DomainError as error:
        form.add_error("code", error.message)
        return None


def undoable(request: HttpRequest, scope: BrandScope, number: str) -> Redemption | None:
    """The redemption, if this same user handed it over recently enough to undo it."""
    if not is_id(number):
        return None
    rows = scope.of(Redemption.objects.filter(pk=number, used_by=staff_user(request)), "brand")
    redemption = rows.select_related("brand").first()
    return redemption if redemption and may_undo_use(redemption, at=timezone.now()) else None


def recent(own: Any, at: datetime) -> list[RecentUse]:
    """The user's last hand-overs that can still be undone, newest first."""
    rows = own.filter(used_at__gt=undo_since(at)).select_related("brand")[:MAX_RECENT]
    return [RecentUse(row.pk, row.name, clock(row.used_at, row.brand.zone)) for row in rows]


def uses_today(own: Any, at: datetime) -> int:
    """How many rewards the user has handed over today, by the clock of each one's brand."""
    rows = own.filter(used_at__gt=at - timedelta(days=2)).select_related("brand").only("used_at", "brand__time_zone")
    return sum(row.brand.day_at(row.used_at) == row.brand.day_at(at) for row in rows)
