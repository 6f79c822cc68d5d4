"""Page: redemptions. Managers cancel them and undo mistaken uses. The till is a page next to this one."""

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from loyalty.admin.till.answers import masked_code, state_badge
from loyalty.admin.till.page import Till
from loyalty.models.rewards import Redemption
from loyalty.rewards import cancellation, codes
from portal.base.audit_mixin import audit_context
from portal.base.confirmation import ConfirmedAction
from portal.base.sidebar import CUSTOMERS, SidebarEntry
from portal.import_export.exportable import ExportingAdmin
from portal.lists.field_column import attribute_column
from portal.lists.filters import DayFilter
from portal.unfold import ChoicesFilter, action, display


@admin.register(Redemption)
class RedemptionAdmin(Till, ExportingAdmin):
    role_permissions: ClassVar = {"owner": "view act use", "manager": "view act use", "support": "view use"}
    sidebar = SidebarEntry(CUSTOMERS, 4, "confirmation_number")
    export_kind = "export-redemptions"
    customer_path = "user_point__user"
    pages_by_key = True
    list_display = ("created_at", "customer", "name", "cost", "state", "code_masked", "expires_at", "used_at")
    list_filter = (("status", ChoicesFilter), ("created_at", DayFilter))
    list_select_related = ("user_point__user", "pool_code")
    search_fields = ("code__exact",)
    search_help_text = gettext_lazy("A code, or parts of a customer's name or e-mail address.")
    fieldsets = (
        (None, {"fields": (("name", "cost"), ("customer", "state"), ("code_masked", "brand"))}),
        (gettext_lazy("Times"), {"fields": (("created_at", "expires_at"), ("used_at", "used_by"), "cancelled_at")}),
    )
    actions_list = ("till",)
    actions_detail = ("cancel", "undo_use")

    customer = attribute_column("user_point.user", description=gettext_lazy("member"))

    @display(description=gettext_lazy("state"))
    def state(self, redemption: Redemption) -> SafeString:
        return state_badge(redemption)

    @display(description=gettext_lazy("code"))
    def code_masked(self, redemption: Redemption) -> SafeString:
        return masked_code(redemption)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Finds a code as customers read it out."""
        code = codes.read(search_term)
        return super().get_search_results(request, queryset, code or search_term)

    # --- Corrections by managers

    @action(
        description=gettext_lazy("Cancel and refund points"), url_path="cancel", icon="undo", permissions=["act_on_row"]
    )
    def cancel(self, request: HttpRequest, object_id: str) -> HttpResponse:
        message = _("The code becomes invalid. The points are refunded and the reward returns to stock.")
        if getattr(self.get_object(request, object_id), "pool_code", None):
            message = _(
                "The points are refunded. The partner's code, which the member has seen, does not return to the pool: "
                "ask the partner to void it."
            )
        return self.put_right(request, object_id, cancellation.cancel, _("Cancel this redemption"), message)

    @action(description=gettext_lazy("Undo use"), url_path="take-back", icon="history", permissions=["act_on_row"])
    def undo_use(self, request: HttpRequest, object_id: str) -> HttpResponse:
        message = _("Use this if a code was marked as used by mistake. The code becomes valid again.")
        return self.put_right(request, object_id, cancellation.undo_use, _("Undo use"), message)

    def put_right(self, request: HttpRequest, object_id: str, act: Any, title: str, text: str) -> HttpResponse:
        redemption = self.get_object(request, object_id)

        def carry_out(answers: dict[str, Any]) -> None:
            act(redemption=redemption, audit_context=audit_context(request, answers["reason"]))
            self.message_user(request, _("Done."), messages.SUCCESS)

        action = ConfirmedAction(
            title=_("%(act)s: %(redemption)s") % {"act": title, "redemption": redemption},
            paragraphs=[text],
            button=title,
            dangerous=True,
            cancel=_("Go back"),
        )
        return action.respond(self, request, redemption, carry_out)
