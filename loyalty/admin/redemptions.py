"""Page: what members took, and the till where staff take its codes. Managers cancel, and take a mistaken use back."""

from typing import Any
from uuid import uuid4

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands import zones
from brands.audited import deed
from brands.exporting import ExportingAdmin
from brands.lists import ChoicesFilter, DayFilter
from brands.portal import badge, person
from brands.refusals import Refused
from brands.roles import ACT, USE, Reach
from brands.unfolded import TextareaWidget, TextWidget, action, display
from loyalty import redemption_codes, redemptions
from loyalty.masking import masked
from loyalty.models import Redemption

COLOURS = {"good": "success", "used": "info", "expired": "warning", "cancelled": "", "blocked": "danger"}
WORDS = {
    "good": gettext_lazy("Good"),
    "used": gettext_lazy("Used"),
    "expired": gettext_lazy("Expired"),
    "cancelled": gettext_lazy("Cancelled"),
    "blocked": gettext_lazy("Member blocked"),
}


class CodeForm(forms.Form):
    """A code, typed or scanned."""

    code = forms.CharField(
        label=gettext_lazy("Code"),
        max_length=100,
        widget=TextWidget(attrs={"autofocus": True, "autocomplete": "off", "autocapitalize": "characters"}),
        help_text=gettext_lazy("Type or scan it. Case and separators do not matter; a slip is noticed."),
    )


class ReasonForm(forms.Form):
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=500,
        widget=TextareaWidget(attrs={"rows": 3}),
        help_text=gettext_lazy("Staff read it in the audit trail."),
    )


def state_badge(redemption: Redemption) -> SafeString:
    state = redemptions.state_of(redemption, timezone.now())
    return badge(COLOURS[state], WORDS[state])


@admin.register(Redemption)
class RedemptionPage(ExportingAdmin):
    export_kind = "export-redemptions"
    customer_path = "user_point__user"
    pages_by_key = True
    list_display = ("created_at", "customer", "name", "cost", "state", "code_masked", "expires_at", "used_at")
    list_filter = (("status", ChoicesFilter), ("created_at", DayFilter))
    list_select_related = ("user_point__user",)
    search_fields = ("code__exact",)
    search_help_text = gettext_lazy("A code, or a customer's e-mail address.")
    fieldsets = (
        (None, {"fields": (("name", "cost"), ("customer", "state"), ("code_masked", "brand"))}),
        (gettext_lazy("Times"), {"fields": (("created_at", "expires_at"), ("used_at", "used_by"), "cancelled_at")}),
    )
    actions_list = ("till",)
    actions_detail = ("cancel", "take_back")

    @display(description=gettext_lazy("member"))
    def customer(self, redemption: Redemption) -> Any:
        return redemption.user_point.user

    @display(description=gettext_lazy("state"))
    def state(self, redemption: Redemption) -> SafeString:
        return state_badge(redemption)

    @display(description=gettext_lazy("code"))
    def code_masked(self, redemption: Redemption) -> str:
        return redemption_codes.masked(redemption.code)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Codes are found as they are read out."""
        code = redemption_codes.read(search_term)
        return super().get_search_results(request, queryset, code or search_term)

    # --- The till

    def has_use_permission(self, request: HttpRequest) -> bool:
        return bool(self.reach(request, USE))

    @action(description=gettext_lazy("Till"), url_path="till", icon="point_of_sale", permissions=["use"])
    def till(self, request: HttpRequest) -> HttpResponse:
        """Look a code up; asked to, mark it as used."""
        within = self.reach(request, USE)
        if not within:
            raise PermissionDenied
        sent = request.POST if request.method == "POST" else request.GET if "code" in request.GET else None
        form, found = CodeForm(sent), None
        if form.is_bound and form.is_valid():
            found = self.looked_up(form, within)
        if found and request.method == "POST" and self.used(request, form, found):
            return redirect(f"{request.path}?code={redemption_codes.grouped(found.code)}")
        return TemplateResponse(request, "admin/loyalty/till.html", self.till_context(request, form, found))

    def looked_up(self, form: CodeForm, within: Reach) -> Redemption | None:
        try:
            brands = None if within.everywhere else within.brand_ids
            return redemptions.find(brand_ids=brands, text=form.cleaned_data["code"])
        except Refused as refusal:
            form.add_error("code", refusal.message)
            return None

    def used(self, request: HttpRequest, form: CodeForm, found: Redemption) -> bool:
        """Whether the code is used now, by this request."""
        try:
            redemptions.use(redemption=found, at=timezone.now(), by=person(request), request=uuid4())
        except Refused as refusal:
            form.add_error(None, refusal.message)
            return False
        self.note(request, [found], _("Used at the till"))
        self.message_user(request, _("Used. Hand over: %(reward)s") % {"reward": found.name}, messages.SUCCESS)
        return True

    def till_context(self, request: HttpRequest, form: CodeForm, found: Redemption | None) -> dict[str, Any]:
        shown = {}
        if found:
            zone = found.brand.zone
            shown = {
                "found": found,
                "state": redemptions.state_of(found, timezone.now()),
                "badge": state_badge(found),
                "member": masked(found.user_point.user),
                "code": redemption_codes.grouped(found.code),
                "taken": zones.told(found.created_at, zone),
                "ends": zones.told(found.expires_at, zone) if found.expires_at else _("never"),
                "used": zones.told(found.used_at, zone) if found.used_at else "",
            }
        return {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": _("Till"),
            "form": form,
            **shown,
        }

    # --- What managers put right

    def has_put_right_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return object_id is not None and self.may(request, ACT, self.get_object(request, str(object_id)))

    @action(description=gettext_lazy("Cancel: points back"), url_path="cancel", icon="undo", permissions=["put_right"])
    def cancel(self, request: HttpRequest, object_id: str) -> HttpResponse:
        about = _("The code is worth nothing then; its points go back to the balance, the reward into stock.")
        return self.ask(request, object_id, redemptions.cancel, _("Cancel this redemption"), about)

    @action(
        description=gettext_lazy("Take the use back"), url_path="take-back", icon="history", permissions=["put_right"]
    )
    def take_back(self, request: HttpRequest, object_id: str) -> HttpResponse:
        about = _("For a code that was used by mistake a few minutes ago: it is good again then.")
        return self.ask(request, object_id, redemptions.take_back, _("Take the use back"), about)

    def ask(self, request: HttpRequest, object_id: str, act: Any, title: str, about: str) -> HttpResponse:
        """The page that says what will happen, and asks why."""
        redemption = self.get_object(request, object_id)
        if not self.may(request, ACT, redemption):
            raise PermissionDenied
        form = ReasonForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            try:
                act(redemption=redemption, deed=deed(request, form.cleaned_data["reason"]))
            except Refused as refusal:
                form.add_error(refusal.details.get("field"), refusal.message)
            else:
                self.message_user(request, _("Done."), messages.SUCCESS)
                return redirect("admin:loyalty_redemption_change", redemption.pk)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": f"{title}: {redemption}",
            "redemption": redemption,
            "form": form,
            "about": about,
            "button": title,
        }
        return TemplateResponse(request, "admin/loyalty/redemption_ask.html", context)
