"""Page: who works for a brand, and as what."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.forms import SetPasswordMixin
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands import audit, people
from brands.admin.users import password_field
from brands.audit import Row
from brands.audited import deed
from brands.lists import ChoicesFilter
from brands.models import Membership, User
from brands.portal import TenantAdmin, TenantForm
from brands.refusals import Invalid
from brands.roles import ADD, Reach, whole_reach


class RoleForm(TenantForm):
    def clean(self) -> dict[str, Any]:
        """Said here, where it can be put right; brands.people decides, when nobody else changes roles."""
        cleaned = super().clean()
        if self.instance.pk and cleaned.get("role", Membership.Role.OWNER) != Membership.Role.OWNER:
            try:
                people.keep_an_owner(brand_ids=[self.instance.brand_id], without=self.instance.user_id, field="role")
            except Invalid as refusal:
                self.refuse(refusal)
        return cleaned


class NewRoleForm(SetPasswordMixin, RoleForm):  # type: ignore[type-arg] # generic in the stubs only
    """A role for a colleague of another brand of one's own. Only the operator makes staff of a customer's account: its
    first role comes with a new password, as a colleague's does."""

    within: Reach  # the brands where whoever fills this in may make colleagues

    password1 = password_field(
        _("New password"),
        required=False,
        help_text=_("For a customer's account, whose old password ends. Who works in the portal already keeps theirs."),
    )
    password2 = password_field(_("New password again"), required=False)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        person = cleaned.get("user")
        if person is None:
            return cleaned
        if not self.within.everywhere and not works_within(person, self.within):
            # One answer for every customer: what somebody is elsewhere, their work there too, stays there.
            self.add_error("user", _("Make this person an account of their own for work, with another e-mail address."))
        elif person.is_staff:
            if cleaned.get("password1"):
                self.add_error("password1", _("They work in the portal already, and keep their password."))
        elif not cleaned.get("password1"):
            self.add_error("password1", _("Set a new password: whoever registered the account must not keep theirs."))
        self.validate_passwords()
        self.validate_password_for_user(person, "password1")
        return cleaned


def works_within(user: User, within: Reach) -> bool:
    return user.is_staff and user.memberships.filter(brand__in=within.brand_ids).exists()


@admin.register(Membership)
class MembershipPage(TenantAdmin):
    form = RoleForm
    list_display = ("user", "role")
    list_filter = (("role", ChoicesFilter),)
    list_select_related = ("user",)
    search_fields = ("user__email", "user__first_name", "user__last_name")
    autocomplete_fields = ("user",)
    fields = ("brand", "user", "role")
    add_fieldsets = ((None, {"fields": (*fields, ("password1", "password2"))}),)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return super().get_fieldsets(request, obj) if obj else self.add_fieldsets

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:  # noqa: FBT001, FBT002
        if obj:
            return super().get_form(request, obj, change, **options)
        form = type("BoundNewRoleForm", (NewRoleForm,), {"within": whole_reach(request.user, ADD, "brands.membership")})
        return super().get_form(request, obj, change, form=form, **options)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        fields = super().get_readonly_fields(request, obj)
        return [*fields, "user"] if obj else [*fields]

    def create(self, request: HttpRequest, obj: Membership, form: Any) -> Membership:
        password = form.cleaned_data["password1"]
        made = people.give_role(user=obj.user, brand=obj.brand, role=obj.role, password=password, at=timezone.now())
        if password:
            changes = {"password": (audit.HIDDEN, audit.HIDDEN), "is_staff": (False, True)}
            audit.record(deed=deed(request), action=audit.CHANGED, rows=[Row(obj.user, obj.brand_id, changes)])
        return made

    def store(self, obj: Membership, fields: set[str]) -> None:  # noqa: ARG002 - only the role changes
        people.change_role(membership=obj, role=obj.role)

    def delete_row(self, obj: Membership) -> None:
        people.end_membership(membership=obj)
