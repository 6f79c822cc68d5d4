"""Page: a brand's own kinds of events, with the fields of their payloads as rows."""

from typing import Any, ClassVar

from django.contrib import admin
from django.contrib.postgres.forms import SimpleArrayField
from django.forms.formsets import DELETION_FIELD_NAME
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from campaigns.models.earning_rules import EarningRule
from campaigns.models.event_kinds import MAX_FIELDS, EventKind, EventKindField
from events.models import Event
from portal.base.forms import TenantForm
from portal.base.gone_rows import BoundedTable
from portal.base.sidebar import PROGRAMME, SidebarEntry
from portal.base.tenant_admin import RowForm, TenantInline
from portal.mixins.translations import TranslationsAdmin, translated_form
from portal.unfold import TextWidget, display


class EventKindFieldForm(RowForm):
    """A field whose name and type cannot change once it is saved."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        for name in ("name", "type") if self.instance.pk else ():
            if name in self.fields:
                self.fields[name].disabled = True
        if isinstance(self.fields.get("options"), SimpleArrayField):
            self.fields["options"].widget = TextWidget(attrs={"placeholder": _("Only for a list: small, large")})


class EventKindFieldForms(BoundedTable):
    """Rejects duplicate names, and more fields than a kind may have."""

    def clean(self) -> None:
        super().clean()
        names = set()
        rows = [form for form in self.forms if form.is_valid() and not form.cleaned_data.get(DELETION_FIELD_NAME)]
        for form in rows:
            name = form.cleaned_data.get("name")
            if name and name in names:
                form.add_error("name", _("Another field of this kind has this name."))
            names.add(name)
        if len(names - {None}) > MAX_FIELDS:
            rows[-1].add_error(None, _("A kind has at most %(most)d fields.") % {"most": MAX_FIELDS})


class EventKindFields(TenantInline):
    role_permissions: ClassVar = {
        "owner": "view add change",
        "manager": "view add change",
        "support": "view",
    }
    model = EventKindField
    form = EventKindFieldForm
    formset = EventKindFieldForms
    fields = ("name", "label", "type", "required", "options")


@admin.register(EventKind)
class EventKindAdmin(TranslationsAdmin):
    role_permissions: ClassVar = {
        "owner": "view add change delete",
        "manager": "view add change delete",
        "support": "view",
    }
    sidebar = SidebarEntry(PROGRAMME, 10, "event_note", tab=False)
    list_display = ("title", "name", "is_active", "created_at")
    list_filter = ("is_active",)
    search_fields = ("name", "title")
    fieldsets = ((None, {"fields": ("brand", ("name", "title"), "is_active", "used_by")}),)
    readonly_fields = ("used_by",)
    form = translated_form(TenantForm, EventKind)
    inlines = (EventKindFields,)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """A saved name is read-only: other systems send events by it."""
        fields = super().get_readonly_fields(request, obj)
        return [*fields, "name"] if obj else fields

    @display(description=gettext_lazy("earning rules for it"))
    def used_by(self, kind: EventKind) -> str:
        if not kind.pk:
            return _("No rules yet. Without a rule, events of this kind earn nothing.")
        names = [str(rule) for rule in rules_of(kind)]
        return ", ".join(names) or _("No rules yet. Without a rule, events of this kind earn nothing.")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """A kind that ever had a rule or an event is switched off, not deleted."""
        return super().has_delete_permission(request, obj) and (obj is None or not is_used(obj))


def rules_of(kind: EventKind) -> Any:
    return EarningRule.objects.filter(brand=kind.brand_id, kind=kind.name).order_by("pk")


def is_used(kind: EventKind) -> bool:
    """Whether a rule is for this kind, or an event of it was received."""
    events = Event.objects.from_outside().filter(brand=kind.brand_id, detail_type=kind.name)
    return rules_of(kind).exists() or events.exclude(status=Event.Status.IGNORED).exists()
