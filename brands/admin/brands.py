"""Page: a brand's settings and hostnames."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from brands.models import Brand, BrandHostname
from brands.portal import TenantAdmin, TenantForm, TenantInline
from brands.unfolded import InlineFormSet


class HostnameForm(TenantForm):
    """Leaves it to the table that one hostname is primary: seen alone, a new one looks like the second."""

    def _get_validation_exclusions(self) -> set[str]:
        return {*super()._get_validation_exclusions(), "is_primary"}  # type: ignore[misc] # missing in the stubs


class HostnameTable(InlineFormSet):
    def clean(self) -> None:
        super().clean()
        if len(self._primary()) > 1:
            raise ValidationError(_("Only one hostname can be the primary one."))

    def save(self, commit: bool = True) -> Any:  # noqa: FBT001, FBT002 - Django's signature
        """The old primary hostname steps down first: the database allows one at a time."""
        chosen = [form.instance.pk for form in self._primary()]
        BrandHostname.objects.filter(brand=self.instance).exclude(pk__in=chosen).update(is_primary=False)
        return super().save(commit=commit)

    def _primary(self) -> list[Any]:
        kept = [form for form in self.forms if form not in self.deleted_forms]
        return [form for form in kept if form.cleaned_data.get("is_primary")]


class Hostnames(TenantInline):
    model = BrandHostname
    form = HostnameForm
    formset = HostnameTable
    fields = ("hostname", "is_primary")


@admin.register(Brand)
class BrandPage(TenantAdmin):
    brand_path = "pk"
    list_display = ("name", "slug", "time_zone", "loyalty_active", "support_email")
    search_fields = ("name", "slug")
    fieldsets = (
        (None, {"fields": (("name", "slug"), ("time_zone", "support_email"))}),
        (
            _("Loyalty programme"),
            {"fields": (("loyalty_active", "auto_enroll"), ("daily_point_limit", "monthly_point_limit"))},
        ),
    )
    inlines = (Hostnames,)
