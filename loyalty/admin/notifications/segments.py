"""Page: automatic notifications that only the members of a segment receive."""

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest

from loyalty.models.messages.notification_segments import NotificationSegment
from loyalty.notifications.segments.exclusions import LIMITABLE
from portal.base.sidebar import MESSAGES, SidebarEntry
from portal.base.tenant_admin import TenantAdmin


@admin.register(NotificationSegment)
class NotificationSegmentAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view add change delete", "manager": "view add change delete"}
    sidebar = SidebarEntry(MESSAGES, 6, "filter_alt", tab=False)
    list_display = ("template", "segment")
    list_select_related = ("segment",)
    fieldsets = ((None, {"fields": ("brand", "template", "segment")}),)

    def formfield_for_choice_field(self, db_field: Any, request: HttpRequest, **options: Any) -> Any:
        """Notifications about safety, passwords or addresses cannot be limited: everyone receives them."""
        if db_field.name == "template":
            options["choices"] = [each for each in db_field.get_choices() if not each[0] or each[0] in LIMITABLE]
        return super().formfield_for_choice_field(db_field, request, **options)
