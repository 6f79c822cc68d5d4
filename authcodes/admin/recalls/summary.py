"""The figures of a recall, and where its codes were scanned."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import Count, Q

from authcodes.admin import scan_map
from authcodes.admin.scan_map import ScanMap
from authcodes.dashboard import figures
from authcodes.dashboard.figures import RankedRow
from authcodes.dashboard.filters import Filters
from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from authcodes.recalls.scopes import Part, Scope
from core.texts import MAX_NAMED


@dataclass(frozen=True, slots=True)
class RecallSummary:
    """The codes of a recall, how many were scanned, by how many customers, and the places with the most scans."""

    scope: Scope
    codes: int
    scanned: int
    customers: int
    places: Sequence[RankedRow]

    @property
    def parts(self) -> Sequence[Part]:
        return self.scope.parts[:MAX_NAMED]

    @property
    def more(self) -> int:
        return max(len(self.scope.parts) - MAX_NAMED, 0)

    @property
    def map(self) -> ScanMap:
        return scan_map.build_map(self.places, place_link=lambda _top: "", scans_link=lambda _top: None)


def of_scope(scope: Scope) -> RecallSummary:
    """Whole batches are counted like the dashboard, without reading all codes or scans. For a part, all scans of its
    batch are read.
    """
    if scope.is_whole:
        brands, ids = [scope.brand], Filters(batch_ids=tuple(scope.whole_ids))
        codes = figures.codes(brands=brands, filters=ids)
        scans = figures.scans(brands=brands, filters=ids, max_places=scan_map.MAX_PLACES)
        return RecallSummary(scope, scope.codes, codes.scanned, scans.unique_scanners, scans.places)
    rows = Scan.objects.filter(scope.scans_condition(), brand=scope.brand)
    customers = rows.aggregate(customers=Count("user", distinct=True))["customers"]
    accepted = rows.filter(~Q(location=""), outcome=Scan.Outcome.SUCCESS).order_by()
    places = accepted.values("location").annotate(scans=Count("pk")).order_by("-scans", "location")
    ranked = [RankedRow(row["location"], row["location"], row["scans"]) for row in places[: scan_map.MAX_PLACES]]
    scanned = AuthCode.objects.filter(scope.codes_condition()).scanned().count()
    return RecallSummary(scope, scope.codes, scanned, customers, ranked)
