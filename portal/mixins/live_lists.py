"""Lists whose rows change while they are shown: changing rows are requested again until nothing changes."""

from collections.abc import Mapping
from typing import Any, ClassVar

from django.contrib.admin.utils import lookup_field
from django.http import HttpRequest, JsonResponse
from django.urls import reverse
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString

from core.numbers import is_id
from portal.base.tenant_admin import TenantAdmin

MAX_WATCHED = 100  # rows that one request may ask for


class LiveAdmin(TenantAdmin):
    """A list that refreshes each row's `live_columns` as long as `is_changing` returns True for the row."""

    live_columns: ClassVar[tuple[str, ...]] = ()
    live_prefetch: ClassVar[Mapping[str, str]] = {}  # by column, the related rows that it shows

    def is_changing(self, obj: Any) -> bool:
        """Whether work on the row is in progress."""
        raise NotImplementedError

    def own_views(self) -> dict[str, Any]:
        return {"live": ("live/", self.live_view), **super().own_views()}

    def live_view(self, request: HttpRequest) -> JsonResponse:
        """The content of the columns in `column` for the visible rows in `id`; portal/live.js requests it."""
        columns = [name for name in self.live_columns if name in request.GET.getlist("column")]
        ids = [text for text in request.GET.getlist("id")[:MAX_WATCHED] if is_id(text)]
        rows = self.get_queryset(request).select_related(*self.list_select_related).filter(pk__in=ids)
        rows = rows.prefetch_related(*(self.live_prefetch[name] for name in columns if name in self.live_prefetch))
        states = [
            {
                "id": str(row.pk),
                "columns": {name: conditional_escape(lookup_field(name, row, self)[2]) for name in columns},
            }
            for row in rows
        ]
        return JsonResponse({"rows": states})

    def live(self, obj: Any, column: str, html: SafeString) -> SafeString:
        """The content of a live column, marked for the script while the row changes."""
        if not self.is_changing(obj):
            return html
        address = reverse(f"admin:{self.url_name('live')}")
        marked = '<span data-live-row="{}" data-live-column="{}" data-live-address="{}">{}</span>'
        return format_html(marked, obj.pk, column, address, html)
