"""A sentence each on what a scan's result means and what the scan page showed, and the recalls of the code."""

from collections.abc import Iterator
from typing import Any

from django.db.models import Q
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from authcodes.models.batches import Recall
from authcodes.models.recalls import WithdrawnRecall
from authcodes.models.scans import Scan

Outcome, Reason = Scan.Outcome, Scan.Reason

MEANINGS = {
    Reason.ACCEPTED: _("The code is genuine, and the scan was accepted."),
    Reason.CAMPAIGN_INACTIVE: _(
        "The code is genuine. The campaign of its batch was not running, so the scan earned no points."
    ),
    Reason.PRODUCT_INACTIVE: _("The code is genuine. Its product was no longer sold, so the scan earned no points."),
    Reason.LIMIT_REACHED: _(
        "The code is genuine, but it had already been scanned as often as its batch allows. Either the same product "
        "was scanned again, or this one is a copy."
    ),
    Reason.RESERVED: _(
        "The code is genuine. Someone had scanned it shortly before and could still claim it, so it was reserved."
    ),
    Reason.RECALLED: _("The code is genuine, but it had been recalled, so the scan earned no points."),
    Reason.UNKNOWN: _("There is no such code: it was mistyped or made up."),
    Reason.BAD_TAG: _(
        "The code exists, but its secret tag was missing or wrong: the code was not read completely, or somebody "
        "guessed it."
    ),
    Reason.OTHER_BRAND: _("The code exists, but it was scanned in the app or on the scan page of another brand."),
    Reason.EXPIRED: _("The code is genuine, but the expiration date of its batch had passed."),
    Reason.DEACTIVATED: _("The code is genuine, but it had been deactivated by staff."),
    Reason.UNASSIGNED: _("The code exists, but it had no product yet."),
}
OWN_AGAIN = _("The code is genuine. The customer scanned it again, because a limit had held back its points.")
FIRST = _("The scan page said that the product is genuine and that nobody had checked it before.")
AGAIN = _(
    "The scan page said that the product is genuine and had been checked before, with the date and place of the first "
    "check."
)
CLAIMED = _("The scan page said that the product is genuine and that the customer already has its points.")
NOT_RECOGNISED = _(
    "The scan page said only that the code was not recognised, and showed what to check and whom to ask. Only staff "
    "see the reason."
)
TEST = _("The scan page said that this is a test code, not a product.")
WARNINGS = {
    Reason.LIMIT_REACHED: _(
        "The scan page said that the code is used up, when and where it was first checked, and that the product may be "
        "a copy."
    ),
    Reason.RESERVED: _(
        "The scan page said that the code had been checked a moment ago and is reserved, and what to do next."
    ),
    Reason.RECALLED: _(
        "The scan page warned not to use the product, and showed the recall's message, number and contact."
    ),
}


def panel_context(site: Any, request: HttpRequest, scan: Scan) -> dict[str, Any]:
    """The context of the template `scan/panel.html`."""
    return {
        "scan_meaning": meaning_of(scan),
        "scan_answer": answer_of_page(scan),
        "scan_recalls": list(recalls_of(site, request, scan)),
    }


def asks_for_limited_points(scan: Scan) -> bool:
    """Whether it is a repeat by the customer whose own accepted scan a point limit left without points."""
    return scan.reason == Reason.LIMIT_REACHED and scan.points_status == Scan.PointsStatus.LIMITED


def meaning_of(scan: Scan) -> Any:
    return OWN_AGAIN if asks_for_limited_points(scan) else MEANINGS[Reason(scan.reason)]


def answer_of_page(scan: Scan) -> Any:
    """What the scan page showed, in its order of precedence. A brand's own app may word it differently."""
    if scan.outcome == Outcome.ERROR:
        return NOT_RECOGNISED
    if scan.brand and scan.brand.is_sandbox:
        return TEST
    if scan.reason == Reason.RECALLED:
        return WARNINGS[Reason.RECALLED]
    if scan.points_status == Scan.PointsStatus.ALREADY_CLAIMED:
        return CLAIMED
    if asks_for_limited_points(scan):
        return AGAIN
    if scan.outcome == Outcome.WARNING:
        return WARNINGS[Reason(scan.reason)]
    return FIRST if scan.scan_count == 1 else AGAIN


def recalls_of(site: Any, request: HttpRequest, scan: Scan) -> Iterator[tuple[str, str, str]]:
    """The recall that the customer was warned of, and one that its code joined after the scan, if the user may see
    them. Each is a label, an id and the address of its page.
    """
    current = scan.recall_in_force
    withdrawn = withdrawn_recall(scan) if scan.reason == Reason.RECALLED else None
    if withdrawn and site.get_model_admin(WithdrawnRecall).has_view_permission(request, withdrawn):
        address = reverse("admin:authcodes_withdrawnrecall_change", args=[withdrawn.pk])
        yield gettext("Recall (now withdrawn)"), str(withdrawn), address
    if current and site.get_model_admin(Recall).has_view_permission(request, current):
        was_in_force = scan.reason == Reason.RECALLED and not withdrawn and current.recalled_at <= scan.scanned_at
        label = gettext("Recall") if was_in_force else gettext("Recalled since this scan")
        yield label, str(current), reverse("admin:authcodes_recall_change", args=[current.pk])


def withdrawn_recall(scan: Scan) -> WithdrawnRecall | None:
    """The withdrawn recall that was in force for the code at the time of the scan.

    A batch has one recall at a time: of those withdrawn since, its code was in the first, and later in the others.
    """
    of_code = Q(batches__recalled_to="") | Q(batches__recalled_from__lte=scan.code, batches__recalled_to__gte=scan.code)
    at_scan = Q(recalled_at__lte=scan.scanned_at, withdrawn_at__gte=scan.scanned_at)
    rows = WithdrawnRecall.objects.filter(of_code, at_scan, batches__batch=scan.batch_id)
    return rows.order_by("withdrawn_at", "pk").first()
