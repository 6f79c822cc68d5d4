"""Page: how members' levels changed, at brands whose levels have periods. Read-only."""

from typing import ClassVar

from django.contrib import admin
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from loyalty.models.levels import LevelChange
from portal.base.sidebar import CUSTOMERS, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.lists.field_column import attribute_column
from portal.lists.filters import DayFilter
from portal.unfold import ChoicesFilter, display


@admin.register(LevelChange)
class LevelChangeAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view", "manager": "view", "support": "view"}
    sidebar = SidebarEntry(CUSTOMERS, 8, "military_tech", tab=False)
    customer_path = "user_point__user"
    pages_by_key = True
    list_display = ("created_at", "member", "before", "after", "reason", "points", "level_until")
    list_filter = (("reason", ChoicesFilter), ("created_at", DayFilter))
    list_select_related = ("user_point__user",)
    search_help_text = _("Parts of a member's name or e-mail address.")
    search_fields = ("user_point__user__email__startswith",)
    fields = ("brand", "member", ("before", "after"), ("reason", "points"), ("level_until", "created_at"))

    member = attribute_column("user_point.user", description=_("member"))

    @display(description=_("from"))
    def before(self, change: LevelChange) -> str:
        return change.level_before or gettext("No level")

    @display(description=_("to"))
    def after(self, change: LevelChange) -> str:
        return change.level_after or gettext("No level")
