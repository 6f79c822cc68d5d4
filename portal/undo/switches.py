"""Forms that only switched a row on or off: the success message offers to switch it back."""

from typing import Any

from django.apps import apps
from django.contrib import admin, messages
from django.http import HttpRequest
from django.utils.translation import gettext_noop

from brands.identity.roles import CHANGE
from brands.models.undo_offers import UndoOffer
from portal.base.tenant_admin import TenantAdmin
from portal.undo import offers
from portal.undo.offers import UndoKind

FIELD = "is_active"
TAGS = "_undo_tags"  # on the request, between the save and its message


class SwitchUndoMixin(TenantAdmin):
    """A mixin for pages of rows with `is_active`; settings.UNDO_KINDS needs a `switch-` entry for the model's label."""

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: Any) -> None:
        super().save_related(request, form, formsets, change)
        row = form.instance
        brand_id = self.brand_id_of(row)
        is_only_change = list(form.changed_data) == [FIELD] and not any(table.has_changed() for table in formsets)
        if change and is_only_change and brand_id is not None:
            arguments = {"row": row.pk, FIELD: bool(getattr(row, FIELD))}
            kind = f"switch-{self.opts.label_lower}"
            setattr(request, TAGS, offers.offer(request, kind, brand_id=brand_id, arguments=arguments))

    def message_user(
        self,
        request: HttpRequest,
        message: Any,
        level: Any = messages.INFO,
        extra_tags: str = "",
        fail_silently: bool = False,  # noqa: FBT001, FBT002 - Django's signature
    ) -> None:
        """Add the offer to the first success message after the save."""
        if level == messages.SUCCESS:
            extra_tags = vars(request).pop(TAGS, "") or extra_tags
        super().message_user(request, message, level, extra_tags, fail_silently)


def kind(label: str) -> UndoKind:
    """The undo kind that switches a row of the model back."""

    def switch_back(request: HttpRequest, offer: UndoOffer) -> None:
        model = apps.get_model(label)
        page: Any = admin.site.get_model_admin(model)
        rows = model._base_manager.select_for_update(no_key=True, of=("self",))
        row: Any = rows.get(pk=offer.arguments["row"], brand=offer.brand_id)
        if getattr(row, FIELD) != offer.arguments[FIELD] or offers.changed_since(offer, [row.pk]):
            raise offers.changed_since_error()
        page.remember(request, [row])
        setattr(row, FIELD, not offer.arguments[FIELD])
        page.store(row, {FIELD})
        page.record_action(request, [row], gettext_noop("Undone"))

    return UndoKind(label, CHANGE, switch_back)
