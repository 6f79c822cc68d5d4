"""Actions on a code's page and on codes selected in the list: assign, deactivate, reactivate."""

from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authcodes.admin.codes import bulk_actions
from authcodes.codes import bulk_changes
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from brands.identity.roles import ACT, CHANGE
from core import languages
from portal.base.tenant_scope import staff_user
from portal.import_export.exportable import ExportingAdmin
from portal.unfold import action

Kind = CodeChange.Kind
SWITCHES = {Kind.DEACTIVATED: "deactivate", Kind.REACTIVATED: "reactivate"}


class CodeActionsAdmin(ExportingAdmin):
    """The actions of the page of codes."""

    actions_list = ("assign",)
    actions = ("deactivate", "reactivate")

    def own_views(self) -> dict[str, Any]:
        views = {name: (f"<id:pk>/{name}/", partial(self.switch, kind=kind)) for kind, name in SWITCHES.items()}
        return {**views, **super().own_views()}

    @action(description=gettext_lazy("Assign single codes"), url_path="assign", icon="sell", permissions=["act"])
    def assign(self, request: HttpRequest) -> HttpResponse:
        return bulk_actions.assign_typed_codes(self, request)

    def switch(self, request: HttpRequest, pk: int, kind: CodeChange.Kind) -> HttpResponse:
        return bulk_actions.switch_code(self, request, self.get_object(request, str(pk)), kind)

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
            self.record_action(request, codes, done, reason=reason)

        if not self.brand_scope(request, ACT).of(queryset, "brand").exists():
            self.message_user(request, _("None of these codes would change."), messages.WARNING)
        codes = self.chosen(request, queryset)
        return bulk_actions.switch_chosen_codes(self, request, codes, kind, note)

    def save_model(self, request: HttpRequest, obj: AuthCode, form: Any, change: bool) -> None:  # noqa: FBT001 - Django's
        if not self.may(request, CHANGE, obj):
            raise PermissionDenied
        changed = {name: form.cleaned_data[name] for name in form.changed_data}
        bulk_changes.edit_code(code=obj, changed=changed, by=staff_user(request), at=timezone.now())


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
            {"label": _("Assign"), "icon": "sell", "url": assign},
            {"label": labels[kind], "icon": "block" if kind == Kind.DEACTIVATED else "check_circle", "url": switch},
        ]
    return {
        "batch": code.batch,
        "product": code.product,
        "recall": recall,
        "expires": code.batch.expiration_date,
        "scan_limit": code.batch.scan_limit,
        "actions": actions,
    }
