"""Links from a batch's page to lists, changes, printing and exports, and the batch's history."""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy

from authcodes.admin.codes import bulk_actions
from authcodes.admin.codes.change_log import kind_badge
from authcodes.admin.printing.access import may_print
from authcodes.codes import batches
from authcodes.models.batches import BatchRange
from authcodes.models.code_history import CodeChange
from brands.identity import roles
from brands.identity.roles import VIEW
from core.numbers import format_number
from portal.import_export.exportable import within
from portal.lists import local_time

Kind = CodeChange.Kind
MAX_CHANGES = 20
# The changes to a code range of a batch: URL name and icon of each.
CODE_CHANGE_ACTIONS = {
    Kind.ASSIGNED: ("assign", "sell"),
    Kind.DEACTIVATED: ("deactivate", "block"),
    Kind.REACTIVATED: ("reactivate", "check_circle"),
    Kind.UNASSIGNED: ("unassign", "label_off"),
}
DELIVERY_TITLES = {
    Kind.DELIVERED: gettext_lazy("Mark as delivered to shops"),
    Kind.DELIVERY_UNDONE: gettext_lazy("Undo a delivery"),
}
DELIVERIES = {Kind.DELIVERED: ("deliver", "local_shipping"), Kind.DELIVERY_UNDONE: ("undeliver", "undo")}
# Buttons on the page itself; the others are in a menu.
PRIMARY_ACTIONS = {"print", "assign", "deliver", "deactivate"}


def list_of(model: str, batch: BatchRange, **more: str) -> str:
    query = urlencode({"batch__id__exact": batch.pk, **more})
    return f"{reverse(f'admin:authcodes_{model}_changelist')}?{query}"


def prints_for(request: HttpRequest, batch: BatchRange) -> list[dict[str, Any]]:
    """A batch that is recalled as a whole cannot be printed."""
    if not (batch.generated_count and may_print(request.user, batch.brand_id)) or (
        batch.recall_id and not batch.is_recalled_in_part
    ):
        return []
    address = reverse("admin:authcodes_printrun_batch", args=[batch.pk])
    return [act_of("print", gettext_lazy("Print"), "print", address)]


def code_change_actions_for(request: HttpRequest, batch: BatchRange) -> list[dict[str, Any]]:
    if not (batch.generated_count and bulk_actions.may_act(request, batch.brand_id)):
        return []
    titles = {kind: bulk_actions.TEXTS[kind].title for kind in CODE_CHANGE_ACTIONS} | DELIVERY_TITLES
    return [
        act_of(name, titles[kind], icon, address_of(name, batch))
        for kind, (name, icon) in (CODE_CHANGE_ACTIONS | DELIVERIES).items()
    ]


def act_of(name: str, label: Any, icon: str, address: str) -> dict[str, Any]:
    """An action on a code range: a button that submits the range form to this address."""
    return {
        "name": name,
        "label": label,
        "icon": icon,
        "address": address,
        "attributes": format_html('formaction="{}"', address),
        "is_usual": name in PRIMARY_ACTIONS,
    }


def address_of(name: str, batch: BatchRange) -> str:
    return reverse(f"admin:authcodes_batchrange_{name}", args=[batch.pk])


def exports_for(request: HttpRequest, batch: BatchRange) -> list[dict[str, Any]]:
    """Links to the list exports, limited to this batch."""
    exports = [
        ("authcode", gettext_lazy("Export codes"), {}),
        ("authcode", gettext_lazy("Export unscanned codes"), {"status": "unscanned"}),
        ("scan", gettext_lazy("Export scan report"), {}),
    ]
    return [
        {
            "label": label,
            "list": name,
            "icon": "download",
            "address": f"{reverse(f'admin:authcodes_{name}_export')}?{query}",
        }
        for name, label, more in exports
        for query in [urlencode({"batch__id__exact": batch.pk, **more})]
        if batch.brand_id in within(request.user, f"authcodes.{name}")
    ]


def generation_job_url(batch: BatchRange) -> str:
    """Address of the job that makes the batch's codes; empty once they are generated."""
    job = None if batch.is_generated else batches.generations_of(batch.pk).filter(brand=batch.brand_id).first()
    return reverse("admin:jobs_job_change", args=[job.pk]) if job else ""


def history_of(request: HttpRequest, batch: BatchRange) -> dict[str, Any]:
    """The latest changes to the batch's codes, with times in the brand's zone."""
    rows = CodeChange.objects.filter(batch=batch).select_related("product", "upload", "changed_by")[:MAX_CHANGES]
    return {
        "lines": [
            {
                "change": row,
                "when": local_time.display_moment(row.changed_at, batch.brand.zone),
                "what": kind_badge(row),
                "codes": format_number(row.codes),
            }
            for row in rows
        ],
        "address": list_of("codechange", batch),
        "sees_imports": batch.brand_id in roles.brand_scope(request.user, VIEW, "authcodes.import"),
    }
