"""Page: who works for a brand, and as what."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from brands.lists import ChoicesFilter
from brands.models import Membership, User
from brands.portal import TenantAdmin


@admin.register(Membership)
class MembershipPage(TenantAdmin):
    list_display = ("user", "role")
    list_filter = (("role", ChoicesFilter),)
    list_select_related = ("user",)
    search_fields = ("user__email", "user__first_name", "user__last_name")
    autocomplete_fields = ("user",)
    fields = ("brand", "user", "role")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        fields = super().get_readonly_fields(request, obj)
        return [*fields, "user"] if obj else [*fields]

    def create(self, request: HttpRequest, obj: Membership, form: Any) -> Membership:
        """Whoever works for a brand may log in to the portal, customer or not."""
        super().create(request, obj, form)
        User.objects.filter(pk=obj.user_id, is_staff=False).update(is_staff=True)
        return obj
