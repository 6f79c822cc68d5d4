"""Page: the prefixes of a brand's codes. Operators can move a prefix to another brand, or release it."""

from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, gettext_noop

from authcodes.codes import prefixes
from authcodes.models.prefixes import CodePrefix
from brands import audit_log
from brands.audit_log import AuditedChange
from core.errors import DomainError
from portal.base.audit_mixin import audit_context
from portal.base.forms import TenantForm
from portal.base.sidebar import PRODUCTS_AND_CODES, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.base.tenant_scope import staff_user


class CodePrefixForm(TenantForm):
    """Whether a new prefix is free is checked only when it is saved, never while it is typed."""

    request: HttpRequest  # set by the page

    def clean_prefix(self) -> str:
        prefix: str = self.cleaned_data["prefix"]
        if not prefixes.PREFIX.fullmatch(prefix):
            raise forms.ValidationError(prefixes.INVALID_PREFIX)
        return prefix

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        brand = cleaned.get("brand")
        if brand and "prefix" in cleaned and not self.errors:
            if prefixes.is_reserved(brand=brand, prefix=cleaned["prefix"]):
                self.add_error("prefix", _("Your brand has already reserved this prefix."))
                return cleaned
            try:
                prefixes.check_available(
                    brand=brand, prefix=cleaned["prefix"], audit_context=audit_context(self.request)
                )
            except DomainError as error:
                self.add_error("prefix", error.message)
        return cleaned

    def _get_validation_exclusions(self) -> set[str]:
        """Skip Django's uniqueness check: the database reports a taken prefix, in the same way for all brands."""
        return {*super()._get_validation_exclusions(), "prefix"}


@admin.register(CodePrefix)
class CodePrefixAdmin(TenantAdmin):
    role_permissions: ClassVar = {
        "owner": "view add",
        "manager": "view add",
        "printer": "view",
        "superuser": "view add change delete",
    }
    sidebar = SidebarEntry(PRODUCTS_AND_CODES, 6, "bookmark", tab=False)
    form = CodePrefixForm
    list_display = ("prefix", "reserved_at", "reserved_by")
    list_select_related = ("reserved_by",)
    search_fields = ("prefix__startswith",)
    search_help_text = gettext_lazy("Start of the prefix.")
    fieldsets = ((None, {"fields": ("brand", "prefix", ("reserved_at", "reserved_by"))}),)
    add_fieldsets = ((None, {"fields": ("brand", "prefix")}),)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:  # noqa: FBT001, FBT002
        help_text = _("Every code of a batch begins with it. No other brand can use it. Letters, digits, - and _.")
        form: Any = super().get_form(request, obj, change, **{**options, "help_texts": {"prefix": help_text}})
        form.request = request
        return form

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Operators may move a prefix to another brand; its text is fixed."""
        fields = [*super().get_readonly_fields(request, obj), "reserved_at", "reserved_by"]
        return [*(name for name in fields if name != "brand"), "prefix"] if obj else fields

    def create(self, request: HttpRequest, obj: CodePrefix, form: Any) -> CodePrefix:
        brand, prefix = form.cleaned_data["brand"], form.cleaned_data["prefix"]
        return prefixes.reserve(brand=brand, prefix=prefix, at=timezone.now(), by=staff_user(request))

    def store(self, obj: CodePrefix, fields: set[str]) -> None:
        if "brand" in fields:
            prefixes.move(reserved=obj, brand=obj.brand)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: Any) -> None:
        """Moving a prefix writes an audit log entry for each brand; neither entry names the other brand."""
        if not change:
            super().save_related(request, form, formsets, change)
            return
        before, now = self.row_before(request, form.instance), form.instance
        if before.brand_id != now.brand_id:
            audit_log.record(
                audit_context=audit_context(request),
                action=gettext_noop("Released by the operator"),
                rows=[AuditedChange(now, before.brand_id)],
            )
            audit_log.record(
                audit_context=audit_context(request),
                action=gettext_noop("Reserved by the operator"),
                rows=[AuditedChange(now, now.brand_id)],
            )

    def delete_row(self, obj: CodePrefix) -> None:
        prefixes.release(reserved=obj)
