"""A code's page: its scans with their outcomes, and the changes by staff, newest first."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authcodes.admin.codes import bulk_actions
from authcodes.admin.codes.change_log import kind_badge
from authcodes.codes import bulk_changes
from authcodes.codes.ranges import spans_more
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from authcodes.places import names
from brands.identity import roles
from brands.identity.roles import ACT, CHANGE, VIEW
from core import languages
from core.numbers import format_number
from portal.base.page_urls import page_urls
from portal.base.tenant_scope import staff_user
from portal.import_export.exportable import ExportingAdmin
from portal.lists import local_time
from portal.lists.number_columns import format_points
from portal.unfold import action

Kind = CodeChange.Kind
MAX_ENTRIES = 30
SWITCHES = {Kind.DEACTIVATED: "deactivate", Kind.REACTIVATED: "reactivate"}


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the history: a scan, or a change by staff."""

    at: datetime
    when: SafeString
    what: SafeString
    scan: Any = None
    change: CodeChange | None = None
    is_partial: bool = False  # the change affected only some codes of its range, and possibly not this one

    @property
    def place(self) -> str:
        return names.short(self.scan.location)

    @property
    def points(self) -> str:
        """The points that the scan earned; "" for none."""
        return format_points(self.scan.points_awarded) if self.scan.points_awarded else ""


class CodeTimeline(ExportingAdmin):
    """Mixin of the code admin: the timeline on a code's page, and actions on it and on codes selected in the list."""

    actions_list = ("assign",)
    change_form_outer_before_template = "admin/authcodes/code/panel.html"
    change_form_outer_after_template = "admin/authcodes/code/timeline.html"

    def get_urls(self) -> list[Any]:
        views = {name: (f"<id:pk>/{name}/", partial(self.switch, kind=kind)) for kind, name in SWITCHES.items()}
        return [*page_urls(self, views), *super().get_urls()]

    @action(description=gettext_lazy("Assign single codes"), url_path="assign", icon="sell", permissions=["act"])
    def assign(self, request: HttpRequest) -> HttpResponse:
        return bulk_actions.of_typed(self, request)

    def switch(self, request: HttpRequest, pk: int, kind: CodeChange.Kind) -> HttpResponse:
        return bulk_actions.of_code(self, request, self.get_object(request, str(pk)), kind)

    @admin.action(description=gettext_lazy("Deactivate (codes scan as not valid)"), permissions=["act"])
    def deactivate(self, request: HttpRequest, queryset: QuerySet[AuthCode]) -> HttpResponse | None:
        return self.switch_chosen(request, queryset.filter(deactivated_at__isnull=True), Kind.DEACTIVATED)

    @admin.action(description=gettext_lazy("Reactivate"), permissions=["act"])
    def reactivate(self, request: HttpRequest, queryset: QuerySet[AuthCode]) -> HttpResponse | None:
        return self.switch_chosen(request, queryset.filter(deactivated_at__isnull=False), Kind.REACTIVATED)

    def switch_chosen(
        self, request: HttpRequest, queryset: QuerySet[AuthCode], kind: CodeChange.Kind
    ) -> HttpResponse | None:
        with languages.in_english():
            done = str(bulk_actions.TEXTS[kind].done)

        def note(codes: list[AuthCode], reason: str) -> None:
            self.note(request, codes, done, reason=reason)

        if not self.brand_scope(request, ACT).of(queryset, "brand").exists():
            self.message_user(request, _("None of these codes would change."), messages.WARNING)
        codes = self.chosen(request, queryset)
        return bulk_actions.of_chosen(self, request, codes, kind, note)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        code = self.get_object(request, object_id)
        page_context = {"code_summary": summary_of(request, code), "timeline": self.timeline_of(request, code)}
        return super().change_view(request, object_id, form_url, {**page_context, **(extra_context or {})})

    def timeline_of(self, request: HttpRequest, code: AuthCode) -> dict[str, Any]:
        """The latest entries that the user may see, and the totals of the code's scans."""
        page: Any = self.admin_site.get_model_admin(Scan)
        sees_scans = code.brand_id in page.brand_scope(request, VIEW)
        scans = page.get_queryset(request).filter(auth_code=code)
        latest = page.with_related(scans).select_related("product").order_by("-scanned_at", "-scan_id")
        zone = code.brand.zone
        entries = [
            *(
                Entry(it.scanned_at, local_time.display_moment(it.scanned_at, zone), page.result(it), scan=it)
                for it in (latest[: MAX_ENTRIES + 1] if sees_scans else [])
            ),
            *(
                Entry(
                    it.changed_at,
                    local_time.display_moment(it.changed_at, zone),
                    kind_badge(it),
                    change=it,
                    is_partial=spans_more(it, code.batch),
                )
                for it in changes_of(code)
            ),
        ]
        entries.sort(key=lambda entry: entry.at, reverse=True)
        known = scans.aggregate(number=Count("pk"), points=Sum("points_awarded")) if sees_scans else {}
        query = urlencode({"q": code.code})
        return {
            "entries": entries[:MAX_ENTRIES],
            "is_cut": len(entries) > MAX_ENTRIES,
            "sees_scans": sees_scans,
            "scans": known.get("number") or 0,
            "points": format_number(known.get("points") or 0),
            "scans_address": f"{reverse('admin:authcodes_scan_changelist')}?{query}",
            "sees_imports": code.brand_id in roles.brand_scope(request.user, VIEW, "authcodes.import"),
        }

    def save_model(self, request: HttpRequest, obj: AuthCode, form: Any, change: bool) -> None:  # noqa: FBT001, ARG002 - Django's
        if not self.may(request, CHANGE, obj):
            raise PermissionDenied
        changed = {name: form.cleaned_data[name] for name in form.changed_data}
        bulk_changes.edit_code(code=obj, changed=changed, by=staff_user(request), at=timezone.now())


def changes_of(code: AuthCode) -> QuerySet[CodeChange]:
    """The latest changes to this code or to a range that contains it, newest first; one more than fits on the page."""
    covering = CodeChange.objects.filter(batch=code.batch_id, first_code__lte=code.code, last_code__gte=code.code)
    return covering.select_related("product", "upload", "changed_by").order_by("-id")[: MAX_ENTRIES + 1]


def summary_of(request: HttpRequest, code: AuthCode) -> dict[str, Any]:
    """The code's batch and recall, and the actions that the user may take."""
    recall = code.batch.recall if code.batch.recalls(code.code) else None
    kind = Kind.REACTIVATED if code.deactivated_at else Kind.DEACTIVATED
    actions = []
    if bulk_actions.may_act(request, code.brand_id):
        assign = f"{reverse('admin:authcodes_authcode_assign')}?{urlencode({'codes': code.code})}"
        switch = reverse(f"admin:authcodes_authcode_{SWITCHES[kind]}", args=[code.pk])
        labels = {Kind.DEACTIVATED: _("Deactivate this code"), Kind.REACTIVATED: _("Reactivate this code")}
        actions = [
            {"label": _("Assign"), "icon": "sell", "address": assign},
            {"label": labels[kind], "icon": "block" if kind == Kind.DEACTIVATED else "check_circle", "address": switch},
        ]
    return {
        "batch": code.batch,
        "product": code.product,
        "recall": recall,
        "expires": code.batch.expiration_date,
        "scan_limit": code.batch.scan_limit,
        "actions": actions,
    }
