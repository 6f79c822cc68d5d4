"""Filters of the lists of codes and scans. The dashboard uses the same conditions."""

from collections.abc import Sequence
from datetime import date
from typing import Any

from django.db.models import F, Q, QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext_lazy as _

from authcodes.dashboard import filters
from authcodes.dashboard.filters import Status
from authcodes.models.batches import BatchRange
from authcodes.models.codes import codes_recalled
from authcodes.places import search
from authcodes.reports.columns import CUSTOMER_IS_OURS
from brands.models.tenants import Brand
from portal.lists.filters import DayFilter, OwnRowsFilter, StateFilter, TextFilter
from portal.lists.queries import report_search_error
from portal.unfold import TypedForm

STATES = {**dict(Status.choices), "unassigned": _("Not assigned"), "recalled": _("Recalled")}
MAX_RECALLED_BATCHES = 50  # beyond it, recalled rows are so frequent that reading all rows in order soon finds them


class StatusFilter(StateFilter):
    title = _("status")
    parameter_name = "status"
    states = STATES

    def condition(self, state: str, brands: Sequence[Brand]) -> Q:
        if state == "recalled":
            return self.recalled(brands, "code")
        if state == "unassigned":
            return Q(product__isnull=True)
        result = filters.codes_with(state, brands=brands)
        return result & Q(product__isnull=False) if state == Status.UNSCANNED else result

    def recalled(self, brands: Sequence[Brand], code: str) -> Q:
        """Partition by recalled batch: each has its rows in index order. Otherwise the newest recalled row may be a
        million rows behind the newest row.
        """
        batches = BatchRange.objects.filter(brand__in=brands, recall__isnull=False)
        ids = list(batches.values_list("pk", flat=True)[: MAX_RECALLED_BATCHES + 1])
        if len(ids) > MAX_RECALLED_BATCHES:
            return codes_recalled(code)
        self.keyset_partitions = [Q(batch=batch) for batch in ids]
        return Q(batch__in=ids) & codes_recalled(code)


class CodeStatusFilter(StatusFilter):
    """Filter scans by the current status of their codes, whatever it was at the time of the scan."""

    title = _("the code's status")

    def condition(self, state: str, brands: Sequence[Brand]) -> Q:
        if state == "recalled":
            return self.recalled(brands, "auth_code__code")
        if state == "unassigned":
            return Q(auth_code__isnull=False, auth_code__product__isnull=True)
        return filters.scans_with(state, brands=brands)


class BatchStateFilter(StateFilter):
    """The states of the list's badges; problems take precedence over ready."""

    title = _("state")
    parameter_name = "state"
    states = {
        "ready": _("Ready"),
        "unfinished": _("Not finished"),
        "expired": _("Expired"),
        "recalled": _("Recalled"),
        "undone": _("Undone"),
    }

    def condition(self, state: str, brands: Sequence[Brand]) -> Q:
        recalled, expired = Q(recall__isnull=False), filters.batches_expired(brands=brands)
        undone, made = Q(quantity=0), Q(generated_count=F("quantity"))
        return {
            "recalled": recalled,
            "expired": ~recalled & expired,
            "undone": ~recalled & ~expired & undone,
            "ready": ~recalled & ~expired & ~undone & made,
            "unfinished": ~recalled & ~expired & ~made,
        }[state]


class AssignedFilter(StateFilter):
    title = _("assignment")
    parameter_name = "assigned"
    states = {"yes": _("Has a product"), "no": _("Without a product")}

    def condition(self, state: str, _brands: Sequence[Brand]) -> Q:
        return Q(product__isnull=state == "no")


class FirstScanFilter(DayFilter):
    """Codes first scanned on these days."""

    def condition(self, brands: Sequence[Brand], first: date | None, last: date | None) -> Q:
        return filters.codes_first_scanned(brands=brands, first_day=first, last_day=last)


class PlaceForm(TypedForm):
    """A part of a place name; a script suggests the places that contain it."""

    def __init__(self, *arguments: Any, of: str, **more: Any) -> None:
        super().__init__(*arguments, **more)
        address = f"{reverse('admin:authcodes_authcode_places')}?{urlencode({'of': of})}"
        for field in self.fields.values():
            field.widget.attrs |= {"data-suggestions": address, "autocomplete": "off"}


class KnownPlaceFilter(TextFilter):
    """Filter by a part of a place name. `of` selects which places of the brands are known."""

    of = search.SCANNED

    def form_class(self, **arguments: Any) -> PlaceForm:
        return PlaceForm(of=self.of, **arguments)

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        with report_search_error(request, queryset) as search:
            search.rows = super().queryset(request, queryset)
        return search.rows

    def condition(self, typed: str, brands: Sequence[Brand]) -> Q:
        return self.condition_at(self.matching(typed, brands), brands)

    def matching(self, typed: str, brands: Sequence[Brand]) -> list[str]:
        """The known places that match; the typed text itself if none does, so that nothing is found."""
        return search.find(typed, search.known(self.of, brands)) or [typed]

    def condition_at(self, places: list[str], brands: Sequence[Brand]) -> Q:
        raise NotImplementedError


class FirstPlaceFilter(KnownPlaceFilter):
    title = _("first scan location")
    parameter_name = "first_scan_location"

    def condition_at(self, places: list[str], brands: Sequence[Brand]) -> Q:
        return filters.codes_first_scanned(brands=brands, places=places)


class InventoryFilter(KnownPlaceFilter):
    title = _("inventory location")
    parameter_name = of = "inventory_location"

    def condition_at(self, places: list[str], _brands: Sequence[Brand]) -> Q:
        return search.codes_at(self.of, places)


class CodeLocationFilter(InventoryFilter):
    """Where an import of ranges placed the codes."""

    title = _("location")
    parameter_name = of = "location"


class ScanDayFilter(DayFilter):
    def condition(self, brands: Sequence[Brand], first: date | None, last: date | None) -> Q:
        return filters.scans_made(brands=brands, first_day=first, last_day=last)


class PlaceFilter(KnownPlaceFilter):
    title = _("location")
    parameter_name = "location"

    def condition_at(self, places: list[str], brands: Sequence[Brand]) -> Q:
        return filters.scans_made(brands=brands, places=places)


class CustomerFilter(OwnRowsFilter):
    """Another brand's customers stay hidden, even if their id is entered."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.title = _("customer")

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        result: Any = super().queryset(request, queryset)
        search: QuerySet[Any] = result.filter(CUSTOMER_IS_OURS) if self.lookup_val else result
        return search
