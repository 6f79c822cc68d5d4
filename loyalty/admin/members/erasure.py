"""The page that erases a member's personal data: it says what goes and what stays, and asks why."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands.identity.roles import ERASE
from core.errors import DomainError
from loyalty.members import erasure
from loyalty.models.accounts import UserPoints
from portal.base.audit_mixin import audit_context
from portal.base.reason_forms import UnnamedReasonForm
from portal.base.tenant_admin import TenantAdmin
from portal.lists.number_columns import format_points
from portal.unfold import action


class ErasureForm(UnnamedReasonForm):
    """Why somebody is erased."""


class Erasure(TenantAdmin):
    """A page of members who can be erased."""

    def has_erase_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        if object_id is None:
            return False
        member = self.get_object(request, str(object_id))
        return member is not None and member.user.is_active and self.may(request, ERASE, member)

    @action(
        description=gettext_lazy("Erase personal data"), url_path="erase", icon="person_remove", permissions=["erase"]
    )
    def erase(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The page that says what goes for good and what stays, and asks why."""
        member = self.get_object(request, object_id)
        if not (member.user.is_active and self.may(request, ERASE, member)):
            raise PermissionDenied
        form = ErasureForm(request.POST or None)
        if request.method == "POST" and form.is_valid() and self.erased(request, member, form):
            return redirect("admin:loyalty_userpoints_change", member.pk)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": _("Erase the personal data of %(member)s") % {"member": member},
            "member": member,
            "balance": format_points(member.points),
            "form": form,
        }
        return TemplateResponse(request, "admin/loyalty/erase.html", context)

    def erased(self, request: HttpRequest, member: UserPoints, form: ErasureForm) -> bool:
        """Whether the person is gone; if not, the form says why."""
        about = audit_context(request, form.cleaned_data["reason"])
        try:
            erasure.erase(user_id=member.user_id, brand_id=member.brand_id, audit_context=about)
        except DomainError as refusal:
            form.add_error(None, refusal.message)
            return False
        self.message_user(request, _("The personal data was erased. The account stays under a pseudonym."))
        return True
