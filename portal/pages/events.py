"""Page: events and their outcome. Read-only, except that dead events can be retried."""

import json
from typing import Any, ClassVar
from uuid import UUID

from django.conf import settings
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.module_loading import import_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy, gettext_noop

from events import leases
from events.models import Event
from portal.base.badges import badge_column
from portal.base.sidebar import SETTINGS, SidebarEntry
from portal.base.tenant_admin import TenantAdmin
from portal.lists.filters import BrandsValuesFilter, DayFilter
from portal.unfold import ChoicesFilter, display

COLOURS = {"pending": "info", "done": "success", "refused": "warning", "ignored": "", "dead": "danger"}


class KindFilter(BrandsValuesFilter):
    title = gettext_lazy("kind")
    parameter_name = "detail_type"

    def values(self) -> list[str]:
        """The service's kinds, and those that the user's brands have registered."""
        return [*settings.EVENT_HANDLERS, *import_string(settings.OWN_KIND_NAMES)(self.brand_ids)]


@admin.register(Event)
class EventAdmin(TenantAdmin):
    role_permissions: ClassVar = {"owner": "view act", "manager": "view act"}
    sidebar = SidebarEntry(SETTINGS, 12, "bolt", tab=False)
    pages_by_key = True
    list_display = ("created_at", "detail_type", "state", "attempts", "finished_at", "event_id")
    list_filter = (("status", ChoicesFilter), KindFilter, ("created_at", DayFilter))
    linked_filters = ("lane",)
    search_fields = ("event_id__exact",)
    search_help_text = gettext_lazy("An event's id.")
    fieldsets = (
        (None, {"fields": ("brand", ("detail_type", "state"), ("event_id", "source"), "request_id")}),
        (gettext_lazy("Delivery"), {"fields": ("attempts", ("due_at", "give_up_at"), "last_error")}),
        (gettext_lazy("Times"), {"fields": ("time", ("created_at", "finished_at"))}),
        (gettext_lazy("Content"), {"fields": ("content", "answer")}),
    )
    actions = ("redeliver",)

    state = badge_column("status", COLOURS, description=gettext_lazy("status"), ordering="status")

    @display(description=gettext_lazy("content"))
    def content(self, event: Event) -> SafeString:
        return pretty(event.detail)

    @display(description=gettext_lazy("answer"))
    def answer(self, event: Event) -> SafeString:
        return pretty(event.outcome)

    def get_search_results(
        self,
        request: HttpRequest,
        queryset: QuerySet[Event],
        search_term: str,
    ) -> tuple[QuerySet[Event], bool]:
        """Django would compare ids as text, which no index supports."""
        if not search_term:
            return queryset, False
        try:
            return queryset.filter(event_id=UUID(search_term.strip())), False
        except ValueError:
            return queryset.none(), False

    @admin.action(description=gettext_lazy("Retry failed events"), permissions=["act"])
    def redeliver(self, request: HttpRequest, queryset: QuerySet[Event]) -> None:
        dead = self.chosen(request, queryset.filter(status=Event.Status.DEAD))
        again = [event for event in dead if leases.redeliver(event=event, at=timezone.now())]
        self.report(request, again, gettext_noop("Retried"))


def pretty(value: Any) -> SafeString:
    return format_html(
        '<pre class="whitespace-pre-wrap text-xs">{}</pre>', json.dumps(value, indent=2, ensure_ascii=False)
    )
