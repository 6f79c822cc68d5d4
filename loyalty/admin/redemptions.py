"""Page: what members took. Managers cancel, and take a mistaken use back; the till is a page beside it."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands.identity.roles import ACT
from core.errors import DomainError
from loyalty.admin.till import Till, state_badge
from loyalty.models.rewards import Redemption
from loyalty.rewards import cancellation, codes
from portal.base.audit_mixin import audit_context
from portal.base.sidebar import MEMBERS, SidebarEntry
from portal.import_export.exportable import ExportingAdmin
from portal.lists.filters import DayFilter
from portal.unfold import ChoicesFilter, TextareaWidget, action, display


class ReasonForm(forms.Form):
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        max_length=500,
        widget=TextareaWidget(attrs={"rows": 3}),
        help_text=gettext_lazy("Shown to staff in the audit log."),
    )


@admin.register(Redemption)
class RedemptionAdmin(Till, ExportingAdmin):
    role_permissions: ClassVar = {"owner": "view act use", "manager": "view act use", "support": "view use"}
    sidebar = SidebarEntry(MEMBERS, 3, "confirmation_number")
    export_kind = "export-redemptions"
    customer_path = "user_point__user"
    pages_by_key = True
    list_display = ("created_at", "customer", "name", "cost", "state", "code_masked", "expires_at", "used_at")
    list_filter = (("status", ChoicesFilter), ("created_at", DayFilter))
    list_select_related = ("user_point__user",)
    search_fields = ("code__exact",)
    search_help_text = gettext_lazy("A code, or parts of a customer's name or e-mail address.")
    fieldsets = (
        (None, {"fields": (("name", "cost"), ("customer", "state"), ("code_masked", "brand"))}),
        (gettext_lazy("Times"), {"fields": (("created_at", "expires_at"), ("used_at", "used_by"), "cancelled_at")}),
    )
    actions_list = ("till",)
    actions_detail = ("cancel", "undo_use")

    @display(description=gettext_lazy("member"))
    def customer(self, redemption: Redemption) -> Any:
        return redemption.user_point.user

    @display(description=gettext_lazy("state"))
    def state(self, redemption: Redemption) -> SafeString:
        return state_badge(redemption)

    @display(description=gettext_lazy("code"))
    def code_masked(self, redemption: Redemption) -> str:
        return codes.masked(redemption.code)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Codes are found as they are read out."""
        code = codes.read(search_term)
        return super().get_search_results(request, queryset, code or search_term)

    # --- What managers put right

    def has_put_right_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return object_id is not None and self.may(request, ACT, self.get_object(request, str(object_id)))

    @action(
        description=gettext_lazy("Cancel and refund points"), url_path="cancel", icon="undo", permissions=["put_right"]
    )
    def cancel(self, request: HttpRequest, object_id: str) -> HttpResponse:
        about = _("The code becomes invalid. The points are refunded and the reward returns to stock.")
        return self.ask(request, object_id, cancellation.cancel, _("Cancel this redemption"), about)

    @action(description=gettext_lazy("Undo use"), url_path="take-back", icon="history", permissions=["put_right"])
    def undo_use(self, request: HttpRequest, object_id: str) -> HttpResponse:
        about = _("Use this if a code was marked as used by mistake. The code becomes valid again.")
        return self.ask(request, object_id, cancellation.undo_use, _("Undo use"), about)

    def ask(self, request: HttpRequest, object_id: str, act: Any, title: str, about: str) -> HttpResponse:
        """The page that says what will happen, and asks why."""
        redemption = self.get_object(request, object_id)
        if not self.may(request, ACT, redemption):
            raise PermissionDenied
        form = ReasonForm(request.POST or None)
        if request.method == "POST" and form.is_valid():
            try:
                act(redemption=redemption, audit_context=audit_context(request, form.cleaned_data["reason"]))
            except DomainError as refusal:
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
