"""Page: the till, where staff look a code up, hand its reward over, and undo a slip of their own."""

from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands.identity.roles import USE, BrandScope
from core.errors import DomainError
from loyalty.members.masking import displayed_to
from loyalty.models.rewards import Redemption
from loyalty.rewards import cancellation, codes
from loyalty.rewards import till as redemptions
from loyalty.rewards.undo import may_undo_use, too_late
from portal.base.audit_mixin import audit_context
from portal.base.badges import badge
from portal.base.tenant_scope import staff_user
from portal.lists import local_time
from portal.lists.number_columns import format_points
from portal.unfold import TextWidget, action
from scanpage import assets

COLOURS = {"good": "success", "used": "info", "expired": "warning", "cancelled": "", "blocked": "danger"}
LABELS = {
    "good": gettext_lazy("Good"),
    "used": gettext_lazy("Used"),
    "expired": gettext_lazy("Expired"),
    "cancelled": gettext_lazy("Cancelled"),
    "blocked": gettext_lazy("Member blocked"),
}
# As on the scan page, but for the camera: no other page of the portal may use it.
PERMISSIONS_POLICY = "camera=(self), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"


class CodeForm(forms.Form):
    """A code, typed or scanned."""

    code = forms.CharField(
        label=gettext_lazy("Code"),
        max_length=100,
        widget=TextWidget(attrs={"autofocus": True, "autocomplete": "off", "autocapitalize": "characters"}),
        help_text=gettext_lazy(
            "Enter or scan the code. Case and separators do not matter. Typing errors are detected."
        ),
    )


def state_badge(redemption: Redemption) -> SafeString:
    state = redemptions.state_of(redemption, timezone.now())
    return badge(COLOURS[state], LABELS[state])


class Till:
    """The till of the page of redemptions."""

    admin_site: Any
    opts: Any

    def has_use_permission(self, request: HttpRequest) -> bool:
        return bool(self.brand_scope(request, USE))  # type: ignore[attr-defined] # of TenantAdmin

    @action(description=gettext_lazy("Redeem a code"), url_path="till", icon="point_of_sale", permissions=["use"])
    def till(self, request: HttpRequest) -> HttpResponse:
        """Look a code up; asked to, mark it as used, or undo that."""
        scope = self.brand_scope(request, USE)  # type: ignore[attr-defined] # of TenantAdmin
        if not scope:
            raise PermissionDenied
        if request.method == "POST" and "undo" in request.POST:
            return self.undo(request, scope)
        sent = request.POST if request.method == "POST" else request.GET if "code" in request.GET else None
        form, redemption = CodeForm(sent), None
        if form.is_bound and form.is_valid():
            redemption = find(form, scope)
        if redemption and request.method == "POST" and self.mark_used(request, form, redemption):
            return redirect(f"{request.path}?done={redemption.pk}")
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": _("Redeem a code"),
            "form": form,
            "camera": f"/page/assets/{assets.version()}/camera.js",
            "undoable": undoable(request, scope, request.GET.get("done", "")),
            **(describe(request, redemption) if redemption else {}),
        }
        response = TemplateResponse(request, "admin/loyalty/till.html", context)
        response.headers["Permissions-Policy"] = PERMISSIONS_POLICY
        return response

    def mark_used(self, request: HttpRequest, form: CodeForm, redemption: Redemption) -> bool:
        """Whether the code is used now, by this request."""
        try:
            redemptions.use(redemption=redemption, at=timezone.now(), by=staff_user(request), request=uuid4())
        except DomainError as error:
            form.add_error(None, error.message)
            return False
        self.note(request, [redemption], _("Used at the till"))  # type: ignore[attr-defined] # of TenantAdmin
        return True

    def undo(self, request: HttpRequest, scope: BrandScope) -> HttpResponse:
        redemption = undoable(request, scope, request.POST["undo"])
        try:
            if redemption is None:
                raise too_late()
            cancellation.undo_use(redemption=redemption, audit_context=audit_context(request, _("Undone at the till.")))
        except DomainError as error:
            messages.error(request, error.message)
        else:
            messages.success(request, _("Undone: %(reward)s. The code is valid again.") % {"reward": redemption.name})
        return redirect(request.path)


def find(form: CodeForm, scope: BrandScope) -> Redemption | None:
    try:
        brands = None if scope.everywhere else scope.brand_ids
        return redemptions.find(brand_ids=brands, text=form.cleaned_data["code"])
    except DomainError as error:
        form.add_error("code", error.message)
        return None


def undoable(request: HttpRequest, scope: BrandScope, number: str) -> Redemption | None:
    """What this very person handed over a moment ago."""
    if not (number.isascii() and number.isdigit() and len(number) <= 18):
        return None
    rows = scope.of(Redemption.objects.filter(pk=number, used_by=staff_user(request)), "brand")
    redemption = rows.select_related("brand").first()
    return redemption if redemption and may_undo_use(redemption, at=timezone.now()) else None


def describe(request: HttpRequest, redemption: Redemption) -> dict[str, Any]:
    """What the page shows of a code."""
    zone = redemption.brand.zone
    state = redemptions.state_of(redemption, timezone.now())
    return {
        "found": redemption,
        "paid": format_points(redemption.cost),
        "state": state,
        "verdict": _("Hand over: %(reward)s") % {"reward": redemption.name} if state == "good" else reject(redemption),
        "badge": state_badge(redemption),
        "member": displayed_to(request.user, redemption.user_point),
        "code": codes.grouped(redemption.code),
        "taken": local_time.display_moment(redemption.created_at, zone),
        "ends": local_time.display_moment(redemption.expires_at, zone) if redemption.expires_at else _("never"),
        "used": local_time.display_moment(redemption.used_at, zone) if redemption.used_at else "",
    }


def reject(redemption: Redemption) -> str:
    """Why nothing is to be handed over for a code."""
    zone = redemption.brand.zone
    state = redemptions.state_of(redemption, timezone.now())
    if state == "used" and redemption.used_at:
        used_by = redemption.used_by.get_full_name() if redemption.used_by else _("another system")
        return format_html(
            _("Do not hand over: used {} by {}"), local_time.display_moment(redemption.used_at, zone), used_by
        )
    if state == "expired" and redemption.expires_at:
        return format_html(_("Do not hand over: expired {}"), local_time.display_moment(redemption.expires_at, zone))
    if state == "blocked":
        return _("Do not hand over: the member is blocked")
    return _("Do not hand over: cancelled")
