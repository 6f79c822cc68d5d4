"""Page: what orders, profile changes and logins earn."""

from typing import ClassVar

from django.contrib import admin

from campaigns.admin.earning_rule_resource import EarningRuleResource
from campaigns.models.earning_rules import EarningRule
from loyalty.admin.ceiling import CeilingAdmin
from portal.base.sidebar import PROGRAMME, SidebarEntry
from portal.import_export.importable import ImportingAdmin
from portal.unfold import ChoicesFilter


@admin.register(EarningRule)
class EarningRuleAdmin(ImportingAdmin, CeilingAdmin):
    role_permissions: ClassVar = {
        "owner": "view add change delete",
        "manager": "view add change delete",
        "support": "view",
    }
    sidebar = SidebarEntry(PROGRAMME, 4, "calculate")
    resource = EarningRuleResource
    points_fields = ("reward_value",)
    reward_type_field = "reward_type"
    list_display = ("name", "kind", "reward_type", "reward_value", "state")
    list_filter = (("kind", ChoicesFilter), ("state", ChoicesFilter))
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "brand",
                    ("name", "kind"),
                    ("reward_type", "reward_value"),
                    ("per", "basis"),
                    ("stacking", "group", "priority"),
                    ("starts_at", "ends_at", "without_end"),
                    "conditions",
                    "limits",
                    "state",
                )
            },
        ),
    )
