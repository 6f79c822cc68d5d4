"""Page: a brand's settings and hostnames."""

from typing import Any, ClassVar

from django.conf import settings
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils.module_loading import import_string
from django.utils.translation import gettext_lazy as _

from brands.identity.roles import ADD, full_scope
from brands.models.tenants import MAX_WEB_ORIGINS, Brand, BrandHostname
from brands.tenants import pictures
from brands.tenants.pictures import EncodedPicture
from core import colours
from core.web.web_origins import canonical, validate_web_origin
from portal.base.forms import LinesField, TenantForm
from portal.base.gone_rows import BoundedTable
from portal.base.sidebar import SETTINGS, SidebarEntry
from portal.base.tenant_admin import TenantInline
from portal.base.tenant_scope import staff_user
from portal.mixins.images import PictureForm
from portal.pages.new_brand import NewBrand
from portal.unfold import ColourWidget, display


class HostnameForm(TenantForm):
    """Leaves the check for one primary hostname to the table: by itself, a new one looks like a second."""

    def _get_validation_exclusions(self) -> set[str]:
        return {*super()._get_validation_exclusions(), "is_primary"}


class HostnameTable(BoundedTable):
    def clean(self) -> None:
        super().clean()
        if len(self._primary()) > 1:
            raise ValidationError(_("Only one hostname can be the primary one."))

    def save(self, commit: bool = True) -> Any:  # noqa: FBT001, FBT002 - Django's signature
        """Unset the old primary hostname first: the database allows only one at a time."""
        chosen = [form.instance.pk for form in self._primary()]
        BrandHostname.objects.filter(brand=self.instance).exclude(pk__in=chosen).update(is_primary=False)
        return super().save(commit=commit)

    def _primary(self) -> list[Any]:
        saved = [form for form in self.forms if form not in self.deleted_forms]
        return [form for form in saved if form.cleaned_data.get("is_primary")]


class Hostnames(TenantInline):
    role_permissions: ClassVar = {
        "owner": "view",
        "manager": "view",
        "printer": "view",
        "support": "view",
        "superuser": "view add change delete",
    }
    model = BrandHostname
    form = HostnameForm
    formset = HostnameTable
    fields = ("hostname", "is_primary")


class WebOriginsField(LinesField):
    """Web origins, one per line; cleaned to a list of them as browsers write them."""

    def read(self, word: str) -> str:
        origin = canonical(word)
        validate_web_origin(origin)
        return origin

    def clean(self, value: Any) -> Any:
        origins = super().clean(value)
        if len(origins) > MAX_WEB_ORIGINS:
            raise ValidationError(_("Enter at most %(max)d web origins.") % {"max": MAX_WEB_ORIGINS})
        return origins


class BrandForm(PictureForm):
    """Rejects colours that are hard to read, and a higher points ceiling from users other than operators.

    An owner who could raise the ceiling would not need an approval above it.
    """

    picture_field = "logo"
    by_operator = False
    web_origins = WebOriginsField(
        label=_("Web origins"),
        required=False,
        max_length=10_000,
        help_text=Brand._meta.get_field("web_origins").help_text,
    )

    class Meta:
        widgets = {f"colour_{part}": ColourWidget for part in ("background", "text", "accent")}

    def encode(self, upload: bytes) -> EncodedPicture:
        return pictures.logo(upload)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        most = cleaned.get("max_points_per_scan")
        if most and most > self.instance.max_points_per_scan and not self.by_operator:
            self.add_error("max_points_per_scan", _("You can lower this. Only an operator can raise it."))
        known = {name: value for name, value in cleaned.items() if colours.SHAPE.fullmatch(str(value))}
        for name, least in (("colour_text", colours.READABLE), ("colour_accent", colours.VISIBLE)):
            if not {name, "colour_background"} <= set(known):
                continue
            if (ratio := colours.contrast(known[name], known["colour_background"])) < least:
                message = _("Not enough contrast with the background: %(found).1f to 1, but %(least).1f is required.")
                self.add_error(name, message % {"found": ratio, "least": least})
        return cleaned


@admin.register(Brand)
class BrandAdmin(NewBrand):
    role_permissions: ClassVar = {
        "owner": "view change",
        "manager": "view",
        "printer": "view",
        "support": "view",
        "superuser": "view add change",
    }
    sidebar = SidebarEntry(SETTINGS, 1, "storefront")
    brand_path = "pk"
    makes_slugs = True
    form = BrandForm
    list_display = ("name", "slug", "number", "time_zone", "loyalty_active", "is_sandbox", "support_email")
    search_fields = ("name", "slug")
    fieldsets = (
        (None, {"fields": (("name", "slug"), ("time_zone", "support_email"), ("number", "is_sandbox"))}),
        (
            _("Loyalty programme"),
            {
                "fields": (
                    ("loyalty_active", "auto_enroll"),
                    "currency",
                    ("daily_point_limit", "monthly_point_limit"),
                    ("max_points_per_scan", "protected_batches_only"),
                    "requires_confirmed_email",
                    ("points_expire", "points_expire_after", "expiry_warning_days"),
                    ("order_points", "order_points_days"),
                    "after_return",
                    ("transfers_allowed", "transfer_daily_limit"),
                    ("birthday_points", "birthday_lead_days"),
                    "till_works_offline",
                )
            },
        ),
        (
            _("What customers see: the scan page and wallet passes"),
            {
                "fields": (
                    ("colour_background", "colour_text", "colour_accent"),
                    ("terms_url", "privacy_url"),
                    "current_picture",
                    ("picture_file", "remove_picture"),
                )
            },
        ),
        (_("Websites that call the API"), {"fields": ("web_origins",)}),
    )
    inlines = (Hostnames,)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:  # noqa: FBT001, FBT002
        form: Any = super().get_form(request, obj, change, **options)
        form.by_operator = staff_user(request).is_superuser
        return form

    def create(self, request: HttpRequest, obj: Any, form: Any) -> Any:
        made = super().create(request, obj, form)
        for path in settings.BRAND_DEFAULTS:
            import_string(path)(made)
        return made

    @display(description=_("brand id"))
    def number(self, brand: Brand) -> str:
        """The id by which operators' settings refer to the brand. A slug is not suitable: it can change."""
        return str(brand.pk or "—")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Only operators change the slug, by which files, links and other systems identify the brand, and the name:
        mails use it, and it must not be another brand's. Sandbox mode can only be set at creation."""
        own = [] if staff_user(request).is_superuser else ["name", "slug"]
        return [*super().get_readonly_fields(request, obj), "number", *own, *(["is_sandbox"] if obj else [])]

    def may(self, request: HttpRequest, verb: str, obj: Any = None) -> bool:
        """A new brand cannot be the one that the user has selected."""
        if verb == ADD:
            return bool(full_scope(request.user, ADD, self.opts.label_lower))
        return super().may(request, verb, obj)
