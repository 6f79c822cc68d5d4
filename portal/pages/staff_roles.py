"""Page: a brand's staff and their roles."""

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands import audit_log
from brands.audit_log import AuditedChange
from brands.identity.roles import ACT, ADD, BrandScope, full_scope
from brands.models.people import StaffRole, User
from brands.staff_login import staff
from brands.staff_login.models import StaffMail
from core.errors import Invalid
from portal.base.audit_mixin import audit_context
from portal.base.confirmation import ConfirmedAction
from portal.base.forms import TenantForm
from portal.base.sidebar import SETTINGS, SidebarEntry
from portal.base.tenant_scope import staff_user
from portal.pages.users import InvitingAdmin, NewPasswordMixin, password_field
from portal.staff_login import help_for_staff
from portal.staff_login.forms import RoleMixin
from portal.unfold import ChoicesFilter, action


class RoleForm(RoleMixin, TenantForm):
    def clean(self) -> dict[str, Any]:
        """Checked here so that the form can show it. brands.staff_login.staff decides, with a lock on roles."""
        cleaned = super().clean()
        if self.instance.pk and cleaned.get("role", StaffRole.Role.OWNER) != StaffRole.Role.OWNER:
            try:
                staff.require_an_owner(brand_ids=[self.instance.brand_id], without=self.instance.user_id, field="role")
            except Invalid as error:
                self.add_domain_error(error)
        return cleaned


class NewRoleForm(NewPasswordMixin, RoleForm):
    """A role for a colleague of another of the user's brands. Only the operator makes a customer staff: the first role
    comes with a new password, as a colleague's does."""

    within: BrandScope  # the brands where the user may add colleagues

    password1 = password_field(
        gettext_lazy("New password"),
        required=False,
        help_text=gettext_lazy(
            "Required for accounts created by customers; it replaces their password. Existing staff keep theirs."
        ),
    )
    password2 = password_field(gettext_lazy("New password again"), required=False)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        chosen = cleaned.get("user")
        if chosen is None:
            return cleaned
        if not self.within.everywhere and not works_within(chosen, self.within):
            # The same answer for every customer: it must not reveal what they are at other brands, including staff.
            self.add_error(
                "user",
                _("You cannot give this account a role. Invite the person by e-mail."),
            )
        elif chosen.is_staff:
            if cleaned.get("password1"):
                self.add_error("password1", _("This person already works in the portal and keeps their password."))
        elif not cleaned.get("password1"):
            self.add_error("password1", _("Set a new password. The customer's old password must not open the portal."))
        self.check_passwords_match()
        self.validate_password_for_user(chosen, "password1")
        return cleaned


def works_within(user: User, within: BrandScope) -> bool:
    return user.is_staff and user.staff_roles.filter(brand__in=within.brand_ids).exists()


@admin.register(StaffRole)
class StaffRoleAdmin(InvitingAdmin):
    role_permissions: ClassVar = {"owner": "view add change delete act", "manager": "view"}
    sidebar = SidebarEntry(SETTINGS, 2, "badge")
    form = RoleForm
    list_display = ("user", "role")
    list_filter = (("role", ChoicesFilter),)
    list_select_related = ("user",)
    search_fields = ("user__email", "user__first_name", "user__last_name")
    autocomplete_fields = ("user",)
    fields = ("brand", "user", "role")
    add_fieldsets = ((None, {"fields": (*fields, ("password1", "password2"))}),)
    actions_detail = ("send_password_link", "reset_factors")

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:  # noqa: FBT001, FBT002
        if obj:
            return super().get_form(request, obj, change, **options)
        form = type("BoundNewRoleForm", (NewRoleForm,), {"within": full_scope(request.user, ADD, "brands.staffrole")})
        return super().get_form(request, obj, change, form=form, **options)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        fields = super().get_readonly_fields(request, obj)
        return [*fields, "user"] if obj else [*fields]

    def create(self, request: HttpRequest, obj: StaffRole, form: Any) -> StaffRole:
        password = form.cleaned_data["password1"]
        made = staff.assign_role(user=obj.user, brand=obj.brand, role=obj.role, password=password, at=timezone.now())
        if password:
            changes = {"password": (audit_log.HIDDEN, audit_log.HIDDEN), "is_staff": (False, True)}
            audit_log.record(
                audit_context=audit_context(request),
                action=audit_log.CHANGED,
                rows=[AuditedChange(obj.user, obj.brand_id, changes)],
            )
        return made

    def store(self, obj: StaffRole, fields: set[str]) -> None:
        staff.change_role(staff_role=obj, role=obj.role)

    def delete_row(self, obj: StaffRole) -> None:
        staff.remove_staff_role(staff_role=obj)

    def has_help_permission(self, request: HttpRequest, object_id: Any = None) -> bool:
        """A colleague at the brand, and never a superuser, whose account gives access to every brand."""
        row = self.addressed_row(request, object_id)
        may = row is not None and self.may(request, ACT, row)
        return may and help_for_staff.may_help(staff_user(request), row.user)

    @action(
        description=gettext_lazy("Send a link to set a password"),
        url_path="password-link",
        icon="mail_lock",
        permissions=["help"],
    )
    def send_password_link(self, request: HttpRequest, object_id: str) -> HttpResponse:
        message = _(
            "An e-mail with a link to set a new password will be sent to "
            "%(email)s. Nothing changes until the link is used."
        )
        return self.mail_link(request, object_id, StaffMail.Kind.PASSWORD_LINK, _("Send a password link?"), message)

    @action(
        description=gettext_lazy("Reset second factors"),
        url_path="reset-factors",
        icon="phonelink_erase",
        permissions=["help"],
    )
    def reset_factors(self, request: HttpRequest, object_id: str) -> HttpResponse:
        message = _(
            "An e-mail will be sent to %(email)s. Its link asks for the password, "
            "then removes all second factors and recovery codes. First make sure "
            "that the request comes from this person."
        )
        return self.mail_link(request, object_id, StaffMail.Kind.FACTORS_LINK, _("Reset second factors?"), message)

    def mail_link(
        self, request: HttpRequest, object_id: str, kind: StaffMail.Kind, title: str, text: str
    ) -> HttpResponse:
        colleague = self.get_object(request, object_id)
        email = {"email": colleague.user.email}

        def send(answers: dict[str, Any]) -> None:
            help_for_staff.send_link(request, colleague, kind=kind, reason=answers["reason"])
            self.message_user(request, _("An e-mail is being sent to %(email)s.") % email)

        action = ConfirmedAction(title=title, paragraphs=[text % email], button=_("Send the link"))
        return action.respond(self, request, colleague, send)
