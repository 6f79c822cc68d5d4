"""The tabs of a batch's page: codes, print files, scans, and the history of its codes."""

from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy

from authcodes.admin import scan_map
from authcodes.admin.batches.links import exports_for, history_of, list_of
from authcodes.admin.home.sections import scans_by_day
from authcodes.admin.home.tiles import ScanDays
from authcodes.codes.numbering import numbering_of
from authcodes.dashboard import figures
from authcodes.dashboard.filters import Filters
from authcodes.dashboard.home import Period
from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.models.prints import PrintRun
from brands.identity import roles
from brands.identity.roles import VIEW
from brands.scanned import MAX_CODE_LENGTH
from core.numbers import format_number
from portal.lists import local_time
from portal.shell.navigation import page_of

CODES, PRINTS, SCANS, HISTORY, SETTINGS = "codes", "prints", "scans", "history", "settings"
TITLES = {
    CODES: gettext_lazy("Codes"),
    PRINTS: gettext_lazy("Print files"),
    SCANS: gettext_lazy("Scans"),
    HISTORY: gettext_lazy("History"),
    SETTINGS: gettext_lazy("Settings"),
}
# The model that a user must be allowed to view for a tab.
NEEDED = {PRINTS: "authcodes.printrun", SCANS: "authcodes.scan", HISTORY: "authcodes.codechange"}
MAX_CODES, MAX_RUNS = 25, 20


def seen_by(request: HttpRequest, batch: BatchRange) -> list[str]:
    """The tabs that the user may open."""
    return [
        name
        for name in TITLES
        if name not in NEEDED or batch.brand_id in roles.brand_scope(request.user, VIEW, NEEDED[name])
    ]


def context_of(request: HttpRequest, batch: BatchRange, name: str) -> dict[str, Any]:
    """The tab's template context, read only when the tab is opened."""
    makers = {CODES: codes_of, PRINTS: prints_of, SCANS: scans_of, HISTORY: history_of}
    return makers[name](request, batch) if name in makers else {}


def codes_of(request: HttpRequest, batch: BatchRange) -> dict[str, Any]:
    """The first codes, or those after the code in the address."""
    after = code_in(request.GET.get("after", ""), batch)
    rows = AuthCode.objects.filter(batch=batch, code__gt=after) if after else AuthCode.objects.filter(batch=batch)
    bounded = rows.filter(code__range=(batch.first_code, batch.last_code))
    codes = list(bounded.select_related("product").order_by("code")[: MAX_CODES + 1])
    page = page_of("authcodes.authcode")
    for code in codes:
        code.batch, code.brand = batch, batch.brand
    more = urlencode({"tab": CODES, "after": codes[MAX_CODES - 1].code}) if len(codes) > MAX_CODES else ""
    return {
        "lines": [
            {
                "code": code,
                "address": reverse("admin:authcodes_authcode_change", args=[code.pk]),
                "status": page.status(code),
                "scans": format_number(code.scan_count),
            }
            for code in codes[:MAX_CODES]
        ],
        "is_first": not after,
        "more": f"?{more}" if more else "",
        "all": list_of("authcode", batch),
        "exports": [each for each in exports_for(request, batch) if each["list"] == "authcode"],
    }


def code_in(text: str, batch: BatchRange) -> str:
    """The batch's code in `text`; empty for anything else."""
    if batch.printed_elsewhere:
        return text if len(text) <= MAX_CODE_LENGTH and text.isprintable() else ""
    return numbering_of(batch).find(text) or ""


def prints_of(_request: HttpRequest, batch: BatchRange) -> dict[str, Any]:
    """The latest print runs; the page polls the state of unfinished ones."""
    rows = PrintRun.objects.filter(brand=batch.brand_id, batch=batch).select_related("job", "started_by", "brand")
    page = page_of("authcodes.printrun")
    return {
        "lines": [
            {
                "run": run,
                "address": reverse("admin:authcodes_printrun_change", args=[run.pk]),
                "when": local_time.display_moment(run.started_at, batch.brand.zone),
                "state": page.state(run),
                "codes": format_number(run.codes),
                "file": page.file(run),
            }
            for run in rows.order_by("-id")[:MAX_RUNS]
        ],
        "all": f"{reverse('admin:authcodes_printrun_changelist')}?{urlencode({'batch__id__exact': batch.pk})}",
    }


def scans_of(request: HttpRequest, batch: BatchRange) -> dict[str, Any]:
    """Where and when the codes were scanned, counted as on Home."""
    scans = figures.scans(brands=[batch.brand], filters=Filters(batch_id=batch.pk), max_places=scan_map.MAX_PLACES)
    today = batch.brand.day_at(timezone.now())
    first = min([batch.brand.day_at(batch.created_at), today, *(day.day for day in scans.days)])

    def link(location: str) -> str:
        return list_of("scan", batch, outcome__exact="success", location=location)

    return {
        "total": format_number(scans.total),
        "has_scans": bool(scans.total),
        "counts": [
            (gettext_lazy("Accepted"), format_number(scans.accepted)),
            (gettext_lazy("Warnings"), format_number(scans.warnings)),
            (gettext_lazy("Errors"), format_number(scans.errors)),
            (gettext_lazy("Customers"), format_number(scans.unique_scanners)),
        ],
        "charted": scans_by_day(ScanDays(Period(first, today), scans.days)),
        "map": scan_map.build_map(scans.places, place_link=link, scans_link=link),
        "all": list_of("scan", batch),
        "exports": [each for each in exports_for(request, batch) if each["list"] == "scan"],
    }
