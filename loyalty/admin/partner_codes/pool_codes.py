"""Page: partner codes, which rewards hand out. Staff cannot read the codes; members see theirs in the app."""

from typing import ClassVar

from django.contrib import admin
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from loyalty.admin.partner_codes.resource import PoolCodeResource
from loyalty.models.rewards import PoolCode
from portal.base.badges import badge
from portal.base.sidebar import PROGRAMME, SidebarEntry
from portal.import_export.importable import ImportingAdmin
from portal.lists.bidi import display_code
from portal.lists.filters import OwnRowsFilter
from portal.unfold import display


@admin.register(PoolCode)
class PoolCodeAdmin(ImportingAdmin):
    role_permissions: ClassVar = {"owner": "view act", "manager": "view act"}
    sidebar = SidebarEntry(PROGRAMME, 8, "local_activity", tab=False)
    resource = PoolCodeResource
    list_display = ("reward", "masked_code", "state", "expires_at", "imported_at")
    list_filter = (("reward", OwnRowsFilter),)
    list_select_related = ("reward", "redemption")
    fieldsets = ((None, {"fields": ("brand", "reward", "masked_code", "state", "expires_at", "imported_at")}),)

    @display(description=gettext_lazy("code"))
    def masked_code(self, code: PoolCode) -> SafeString:
        return display_code(code)

    @display(description=gettext_lazy("state"))
    def state(self, code: PoolCode) -> SafeString:
        if code.redemption_id is not None:
            return badge("info", _("Handed out"))
        if code.expires_at is not None and code.expires_at <= timezone.now():
            return badge("warning", _("Expired"))
        return badge("success", _("In the pool"))
