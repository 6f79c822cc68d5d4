"""Creates a brand on one page: its name, appearance, hostname and owner."""

from typing import Any, ClassVar

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from brands import audit_log
from brands.audit_log import Changes
from brands.models.brand_fields import time_zone_names
from brands.models.people import StaffRole
from brands.models.tenants import Brand, BrandHostname
from brands.staff_login import invitations, mails
from brands.staff_login.models import Invitation
from portal.base.tenant_scope import staff_user
from portal.mixins.images import PictureAdminMixin
from portal.unfold import SelectWidget, TextWidget


class NewBrandMixin(forms.Form):
    """Fields in addition to the brand's own."""

    hostname = forms.CharField(
        label=gettext_lazy("Hostname"),
        required=False,
        max_length=253,
        widget=TextWidget,
        help_text=gettext_lazy(
            "Where customers reach the brand's scan pages, such as codes.example.com: printed codes lead there. Point "
            "its DNS entry at this service. Leave empty to add it later."
        ),
    )
    owner_email = forms.EmailField(
        label=gettext_lazy("Owner's e-mail address"),
        required=False,
        widget=TextWidget,
        help_text=gettext_lazy(
            "The owner receives a link to set a password, valid for 7 days. Leave empty to invite somebody later."
        ),
    )

    def clean_hostname(self) -> str:
        """Validated as in the brand's own table of hostnames."""
        hostname = str(self.cleaned_data["hostname"]).lower()
        if hostname:
            row = BrandHostname(hostname=hostname, is_primary=True)
            try:
                row.clean_fields(exclude=["brand"])
                row.validate_unique(exclude=["brand"])
            except ValidationError as error:
                raise ValidationError(error.message_dict["hostname"]) from error
        return hostname

    def clean_owner_email(self) -> str:
        return str(self.cleaned_data["owner_email"]).lower()


class NewBrand(PictureAdminMixin):
    """The form for a new brand, as a mixin for the page of brands."""

    add_fieldsets: ClassVar[Any] = (
        (None, {"fields": (("name", "slug"), ("time_zone", "support_email"), "is_sandbox")}),
        (
            gettext_lazy("Page appearance"),
            {"fields": (("colour_background", "colour_text", "colour_accent"), "picture_file")},
        ),
        (gettext_lazy("Address and owner"), {"fields": ("hostname", "owner_email")}),
    )

    def get_inlines(self, request: HttpRequest, obj: Any) -> Any:
        return super().get_inlines(request, obj) if obj else []

    def get_prepopulated_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return {} if obj else {"slug": ("name",)}

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **options: Any) -> Any:  # noqa: FBT001, FBT002
        if not obj:
            options["form"] = type("NewBrandForm", (NewBrandMixin, self.form), {})
        form: Any = super().get_form(request, obj, change, **options)
        if not obj and "time_zone" in form.base_fields:
            zones = [(name, name) for name in time_zone_names()]
            form.base_fields["time_zone"].widget = SelectWidget(choices=zones)
        return form

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: Any) -> None:
        super().save_related(request, form, formsets, change)
        if change:
            return
        if hostname := form.cleaned_data.get("hostname"):
            BrandHostname.objects.create(brand=form.instance, hostname=hostname, is_primary=True)
        if email := form.cleaned_data.get("owner_email"):
            self.invite_owner(request, form.instance, email)

    def extra_changes(self, form: Any) -> Changes:
        hostname = form.cleaned_data.get("hostname")
        return {**super().extra_changes(form), **({"hostname": (None, hostname)} if hostname else {})}

    def invite_owner(self, request: HttpRequest, brand: Brand, email: str) -> None:
        """Raises DomainError, which also rolls back the brand."""
        origin = mails.origin_of(request)
        invitation = invitations.create(
            brand=brand, email=email, role=StaffRole.Role.OWNER, by=staff_user(request), at=timezone.now()
        )
        mails.write_invitation(invitation=invitation, origin=origin)
        page: Any = self.admin_site.get_model_admin(Invitation)
        page.record_action(request, [invitation], audit_log.ADDED)
        text = _("An invitation is being sent to %(email)s.") % {"email": email}
        self.message_user(request, text, messages.SUCCESS)
