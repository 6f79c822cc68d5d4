"""Page: a brand's terms, privacy notice and consent. A text in force is never changed: a new version replaces it."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Exists, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands.identity.roles import CHANGE
from brands.models.legal_texts import LegalText
from brands.tenants import legal_texts
from portal.base.badges import badge
from portal.base.sidebar import SETTINGS, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.unfold import ChoicesFilter, display


@admin.register(LegalText)
class LegalTextAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view add change", "manager": "view"}
    sidebar = SidebarEntry(SETTINGS, 10, "gavel")
    list_display = ("kind", "version", "language", "state", "valid_from")
    list_filter = (("kind", ChoicesFilter), ("language", ChoicesFilter))
    fields = ("brand", ("kind", "version", "language"), "text", "valid_from")

    @display(description=gettext_lazy("state"))
    def state(self, text: LegalText) -> SafeString:
        if text.valid_from > timezone.now():
            return badge("info", _("Planned"))
        is_replaced = getattr(text, "is_replaced", False)
        return badge("" if is_replaced else "success", _("Replaced") if is_replaced else _("In force"))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        is_replaced = Exists(legal_texts.newer_versions(timezone.now()))
        rows: QuerySet[Any] = super().get_queryset(request).annotate(is_replaced=is_replaced)
        return rows

    def may(self, request: HttpRequest, verb: str, obj: Any = None) -> bool:
        """A text that customers may have agreed to cannot be changed."""
        if verb == CHANGE and obj is not None and obj.valid_from <= timezone.now():
            return False
        return super().may(request, verb, obj)

    def create(self, request: HttpRequest, obj: LegalText, form: Any) -> Any:
        made = super().create(request, obj, form)
        legal_texts.mark_brand(obj.brand_id)
        return made
