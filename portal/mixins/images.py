"""Portal pages of rows that have a picture: showing, uploading and removing it."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from brands.models.tenants import Brand
from brands.tenants import pictures
from brands.tenants.pictures import MAX_UPLOAD_BYTES, EncodedPicture
from core.errors import DomainError, QuotaReached
from portal.base.fieldsets import fieldsets_without
from portal.base.forms import TenantForm
from portal.base.tenant_admin import TenantAdmin
from portal.unfold import FileWidget, SwitchWidget, display


class PictureForm(TenantForm):
    """Adds an upload, and a switch that removes the picture, to the row's own fields."""

    picture_field = "picture"  # the row's
    picture_file = forms.FileField(
        label=_("New picture"),
        required=False,
        widget=FileWidget,
        help_text=_(
            "PNG, JPEG or WebP, 5 MB and 12 million pixels at most. Only the picture itself is kept: other data in "
            "the file, such as where a photo was taken, is removed."
        ),
    )
    remove_picture = forms.BooleanField(label=_("Remove picture"), required=False, widget=SwitchWidget)

    def encode(self, upload: bytes) -> EncodedPicture:
        raise NotImplementedError

    def clean_picture_file(self) -> EncodedPicture | None:
        upload = self.cleaned_data["picture_file"]
        if not upload:
            return None
        try:
            return self.encode(upload.read(MAX_UPLOAD_BYTES + 1))
        except DomainError as error:
            raise forms.ValidationError(error.message) from error

    def clean(self) -> dict[str, Any]:
        """Check here whether the picture fits in the brand's storage: an error in the form keeps what was typed."""
        cleaned = super().clean()
        encoded, row = cleaned.get("picture_file"), self.instance
        brand = row if isinstance(row, Brand) else cleaned.get("brand") or getattr(row, "brand", None)
        if encoded and brand and brand.pk:
            # Lock the row before the quota, like every form that saves it.
            rows = type(row)._base_manager.select_for_update(no_key=True)
            before = getattr(rows.filter(pk=row.pk).first(), self.picture_field, None)
            try:
                pictures.require_storage(brand=brand, encoded=encoded, instead_of=before)
            except QuotaReached as error:
                self.add_domain_error(error)
        return cleaned


class PictureAdminMixin(TenantAdmin):
    """A page whose rows have a picture."""

    form: type[PictureForm] = PictureForm

    @display(description=_("Picture"))
    def current_picture(self, obj: Any) -> str:
        result = getattr(obj, self.form.picture_field, None) if obj else None
        if result is None:
            return "—"
        return format_html(
            '<img src="{}" alt="" width="{}" class="current-picture">',
            reverse("small-picture", args=[result.pk]),
            min(result.width, 320),
        )

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return [*super().get_readonly_fields(request, obj), "current_picture"]

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Hide the upload from users who may not change the row, and the picture if there is none."""
        may_change = self.has_change_permission(request, obj) if obj else self.has_add_permission(request)
        hidden = set() if may_change else {"picture_file", "remove_picture"}
        if getattr(obj, self.form.picture_field, None) is None:
            hidden |= {"current_picture", "remove_picture"}
        return fieldsets_without(super().get_fieldsets(request, obj), hidden)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:  # noqa: FBT001 - Django's
        super().save_model(request, obj, form, change)
        encoded, removes = form.cleaned_data.get("picture_file"), form.cleaned_data.get("remove_picture")
        locked = self.row_before(request, obj) if change else None
        before = getattr(locked, self.form.picture_field, None)
        if not encoded and not (removes and before):
            return
        brand = obj if isinstance(obj, Brand) else obj.brand
        stored = pictures.store(brand=brand, encoded=encoded, instead_of=before) if encoded else None
        setattr(obj, self.form.picture_field, stored)
        obj.save(update_fields=[self.form.picture_field])
        form.picture_before = before
        form.picture_changed = (str(before) if before else None, str(stored) if stored else None)

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: Any) -> None:
        """Delete the old picture after the audit log has recorded it. Django's form view opens the transaction."""
        super().save_related(request, form, formsets, change)
        pictures.delete(getattr(form, "picture_before", None))

    def delete_row(self, obj: Any) -> None:
        """Delete the row and its picture, which another user may have replaced since `obj` was read."""
        locked = self.model._base_manager.select_for_update().filter(pk=obj.pk).first()
        super().delete_row(obj)
        pictures.delete(getattr(locked, self.form.picture_field, None))

    def extra_changes(self, form: Any) -> Mapping[str, tuple[Any, Any]]:
        changed = getattr(form, "picture_changed", None)
        return {**super().extra_changes(form), **({self.form.picture_field: changed} if changed else {})}
