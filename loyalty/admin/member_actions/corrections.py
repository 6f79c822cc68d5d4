"""Pages: correct a member's name, and request a new address, which the member must confirm."""

from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands.identity.roles import CORRECT
from core import mail
from core.redis import rate_limits
from loyalty.members import confirmations, corrections
from loyalty.models.accounts import UserPoints
from portal.base.audit_mixin import audit_context
from portal.base.confirmation import ConfirmedAction, ReasonForm
from portal.base.tenant_admin import TenantAdmin
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
        validators=[mail.validate_address],
        widget=TextWidget(attrs={"inputmode": "email", "autocomplete": "off"}),
    )
    field_order = ("email", "reason")


class Corrections(TenantAdmin):
    """Corrections, as part of the model admin of members."""

    def has_correct_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        member = self.addressed_row(request, object_id)
        return member is not None and member.user.is_active and self.may(request, CORRECT, member)

    @action(description=gettext_lazy("Correct the name"), url_path="name", icon="badge", permissions=["correct"])
    def correct_name(self, request: HttpRequest, object_id: str) -> HttpResponse:
        member: UserPoints = self.get_object(request, object_id)
        first, last = member.names
        action = ConfirmedAction(
            title=_("Correct the name of %(member)s") % {"member": member.display_name},
            paragraphs=[_("Your brand, its e-mails and wallet passes will use this name until the member changes it.")],
            form=partial(NameForm, initial={"first_name": first, "last_name": last}),
            button=_("Correct the name"),
        )
        return action.respond(self, request, member, partial(self.name_corrected, request, member))

    @action(
        description=gettext_lazy("Change the e-mail address"), url_path="address", icon="mail", permissions=["correct"]
    )
    def change_address(self, request: HttpRequest, object_id: str) -> HttpResponse:
        member: UserPoints = self.get_object(request, object_id)
        text = [
            _(
                "The current address is %(email)s. We notify it and send a link to the new address. "
                "The address changes once the member opens the link and enters their password, within 30 minutes."
            )
            % {"email": member.user.email}
        ]
        waiting = confirmations.waiting_change(user_id=member.user_id, brand_id=member.brand_id, at=timezone.now())
        if change := waiting.first():
            unconfirmed = _("%(email)s is not confirmed yet. Requesting another address cancels its link.")
            text.append(unconfirmed % {"email": change.email})
        action = ConfirmedAction(
            title=_("Change the e-mail address of %(member)s") % {"member": member.display_name},
            paragraphs=text,
            form=AddressForm,
            button=_("Send the link"),
        )
        return action.respond(self, request, member, partial(self.requested_address, request, member))

    def name_corrected(self, request: HttpRequest, member: UserPoints, answers: dict[str, Any]) -> None:
        corrections.correct_name(
            account=member,
            first_name=answers["first_name"],
            last_name=answers["last_name"],
            audit_context=audit_context(request, answers["reason"]),
        )
        self.message_user(request, _("The name was corrected."), messages.SUCCESS)

    def requested_address(self, request: HttpRequest, member: UserPoints, answers: dict[str, Any]) -> None:
        rate_limits.hit("account_mail", member.user.email, f"staff:{request.user.pk}")
        corrections.request_email_change(
            account=member, email=answers["email"], audit_context=audit_context(request, answers["reason"])
        )
        text = _(
            "A link is being sent to %(email)s. The address changes once the member confirms it with their password."
        )
        self.message_user(request, text % {"email": answers["email"].lower()}, messages.SUCCESS)
