"""Page: erase a member's personal data. It lists what is erased and what remains, and asks for a reason."""

from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands.identity.roles import ERASE
from loyalty.members import erasure
from loyalty.models.accounts import UserPoints
from portal.base.audit_mixin import audit_context
from portal.base.confirmation import ConfirmedAction, UnnamedReasonForm
from portal.base.tenant_admin import TenantAdmin
from portal.lists.number_columns import format_points
from portal.unfold import action


class Erasure(TenantAdmin):
    """Erasure, as part of the model admin of members."""

    def has_erase_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        member = self.addressed_row(request, object_id)
        return member is not None and member.user.is_active and self.may(request, ERASE, member)

    @action(
        description=gettext_lazy("Erase personal data"), url_path="erase", icon="person_remove", permissions=["erase"]
    )
    def erase(self, request: HttpRequest, object_id: str) -> HttpResponse:
        member = self.get_object(request, object_id)
        action = ConfirmedAction(
            title=_("Erase the personal data of %(member)s") % {"member": member},
            form=UnnamedReasonForm,
            button=_("Yes, erase data"),
            dangerous=True,
            template="admin/loyalty/erase.html",
            context={"balance": format_points(member.points)},
        )
        return action.respond(self, request, member, partial(self.erased, request, member))

    def erased(self, request: HttpRequest, member: UserPoints, answers: dict[str, Any]) -> None:
        by = audit_context(request, answers["reason"])
        erasure.erase(user_id=member.user_id, brand_id=member.brand_id, audit_context=by)
        self.message_user(request, _("The personal data was erased. The account stays under a pseudonym."))
