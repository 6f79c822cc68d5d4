"""Pages: a member's name corrected, and a new address that the member has to confirm."""

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands.identity.roles import CORRECT
from core.errors import DomainError
from core.redis import rate_limits
from loyalty.members import confirmations, corrections
from loyalty.models.accounts import UserPoints
from portal.base.audit_mixin import audit_context
from portal.base.reason_forms import ReasonForm
from portal.unfold import TextWidget, action


class NameForm(ReasonForm):
    first_name = forms.CharField(
        label=gettext_lazy("First name"),
        max_length=150,
        required=False,
        widget=TextWidget(attrs={"autocomplete": "off"}),
    )
    last_name = forms.CharField(
        label=gettext_lazy("Last name"),
        max_length=150,
        required=False,
        widget=TextWidget(attrs={"autocomplete": "off"}),
    )
    field_order = ("first_name", "last_name", "reason")


class AddressForm(ReasonForm):
    email = forms.EmailField(
        label=gettext_lazy("New e-mail address"),
        max_length=254,
        widget=TextWidget(attrs={"inputmode": "email", "autocomplete": "off"}),
    )
    field_order = ("email", "reason")


class Corrections:
    """Corrections on the page of members."""

    admin_site: Any
    opts: Any

    def may_correct(self, request: HttpRequest, object_id: Any) -> bool:
        if object_id is None:
            return False
        member = self.get_object(request, str(object_id))  # type: ignore[attr-defined] # of TenantAdmin
        return (
            member is not None and member.user.is_active and self.may(request, CORRECT, member)  # type: ignore[attr-defined]
        )

    def has_correct_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        return self.may_correct(request, object_id)

    @action(description=gettext_lazy("Correct the name"), url_path="name", icon="badge", permissions=["correct"])
    def correct_name(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The page that asks for the name and why."""
        member = self.member_to_correct(request, object_id)
        first, last = member.names
        form = NameForm(request.POST or None, initial={"first_name": first, "last_name": last})
        if request.method == "POST" and form.is_valid() and self.name_corrected(request, member, form):
            return redirect("admin:loyalty_userpoints_change", member.pk)
        return self.correction_page(request, member, form, _("Correct the name of %(member)s"), "name")

    @action(
        description=gettext_lazy("Change the e-mail address"), url_path="address", icon="mail", permissions=["correct"]
    )
    def change_address(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """The page that asks for the new address and why."""
        member = self.member_to_correct(request, object_id)
        form = AddressForm(request.POST or None)
        if request.method == "POST" and form.is_valid() and self.requested_address(request, member, form):
            return redirect("admin:loyalty_userpoints_change", member.pk)
        return self.correction_page(request, member, form, _("Change the e-mail address of %(member)s"), "address")

    def member_to_correct(self, request: HttpRequest, object_id: str) -> UserPoints:
        if not self.may_correct(request, object_id):
            raise PermissionDenied
        member: UserPoints = self.get_object(request, object_id)  # type: ignore[attr-defined] # of TenantAdmin
        return member

    def correction_page(
        self, request: HttpRequest, member: UserPoints, form: forms.Form, title: str, what: str
    ) -> HttpResponse:
        name = " ".join(member.names).strip() or member.user.email
        waiting = confirmations.waiting_change(user_id=member.user_id, brand_id=member.brand_id, at=timezone.now())
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": title % {"member": name},
            "original": member,  # for the breadcrumb
            "member": member,
            "what": what,
            "waiting": waiting.first(),
            "form": form,
        }
        return TemplateResponse(request, "admin/loyalty/correct.html", context)

    def name_corrected(self, request: HttpRequest, member: UserPoints, form: NameForm) -> bool:
        given = form.cleaned_data
        about = audit_context(request, given["reason"])
        try:
            corrections.correct_name(
                account=member, first_name=given["first_name"], last_name=given["last_name"], audit_context=about
            )
        except DomainError as refusal:
            form.add_error(None, refusal.message)
            return False
        messages.success(request, _("The name was corrected."))
        return True

    def requested_address(self, request: HttpRequest, member: UserPoints, form: AddressForm) -> bool:
        """Whether the mails are on their way; if not, the form says why."""
        given = form.cleaned_data
        try:
            rate_limits.hit("account_mail", member.user.email, f"staff:{request.user.pk}")
            corrections.request_email_change(
                account=member, email=given["email"], audit_context=audit_context(request, given["reason"])
            )
        except DomainError as refusal:
            form.add_error(refusal.details.get("field"), refusal.message)
            return False
        text = _(
            "A link is being sent to %(email)s. The address changes once the customer confirms it with their password."
        )
        messages.success(request, text % {"email": given["email"].lower()})
        return True
