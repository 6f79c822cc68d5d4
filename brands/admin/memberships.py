"""Page: who works for a brand, and as what."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from brands import people
from brands.lists import ChoicesFilter
from brands.models import Membership
from brands.portal import TenantAdmin, TenantForm
from brands.refusals import Invalid


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


@admin.register(Membership)
class MembershipPage(TenantAdmin):
    form = RoleForm
    list_display = ("user", "role")
    list_filter = (("role", ChoicesFilter),)
    list_select_related = ("user",)
    search_fields = ("user__email", "user__first_name", "user__last_name")
    autocomplete_fields = ("user",)
    fields = ("brand", "user", "role")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        fields = super().get_readonly_fields(request, obj)
        return [*fields, "user"] if obj else [*fields]

    def create(self, request: HttpRequest, obj: Membership, form: Any) -> Membership:  # noqa: ARG002 - the page's
        return people.give_role(user=obj.user, brand=obj.brand, role=obj.role)

    def store(self, obj: Membership, fields: set[str]) -> None:  # noqa: ARG002 - only the role changes
        people.change_role(membership=obj, role=obj.role)

    def delete_row(self, obj: Membership) -> None:
        people.end_membership(membership=obj)
