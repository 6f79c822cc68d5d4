"""Printing the codes that a list shows."""

from dataclasses import replace

from django.contrib.admin.options import IncorrectLookupParameters
from django.db.models import Count, Max, Min
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from authcodes.admin.printing.access import may_print
from authcodes.models.codes import AuthCode, AuthCodeQuerySet
from authcodes.models.prints import PrintRun
from authcodes.printing import runs
from authcodes.printing.selection import Selection
from brands.models.people import User
from brands.models.tenants import Brand
from core.errors import Forbidden, Invalid
from jobs import runner
from jobs.kinds import NO_FILE, JobKind
from portal.lists.selection import displayed_to


def list_filters(request: HttpRequest) -> str:
    """The filters of the list, without its page number."""
    query = request.GET.copy()
    query.pop("p", None)
    return query.urlencode()


def list_selection(by: User, brand: Brand, query: str) -> Selection:
    """The codes of a brand that the user's list shows. Raises Invalid if there are none."""
    codes = codes_of(by, brand, query)
    return selection_of(brand, codes, codes)


def first_code_selection(by: User, brand: Brand, query: str) -> Selection:
    """As `list_selection`, without counting: the first code is enough to preview a label. Raises Invalid."""
    codes = codes_of(by, brand, query)
    return replace(selection_of(brand, codes, codes.order_by("pk")[:1]), is_counted=False)


def list_selection_up_to(most: int, by: User, brand: Brand, query: str) -> Selection:
    """As `list_selection`, but without counting a list of more than `most` codes. Raises Invalid."""
    codes = codes_of(by, brand, query)
    selection = selection_of(brand, codes, codes.order_by()[: most + 1])
    return selection if selection.count <= most else first_code_selection(by, brand, query)


def codes_of(by: User, brand: Brand, query: str) -> AuthCodeQuerySet:
    try:
        listed_rows = displayed_to(by, AuthCode, query).order_by().values("pk")
    except IncorrectLookupParameters:
        raise Invalid(_("The list has no such filter.")) from None
    return AuthCode.objects.filter(brand=brand, pk__in=listed_rows)


def selection_of(brand: Brand, codes: AuthCodeQuerySet, first_codes: AuthCodeQuerySet) -> Selection:
    """`codes` with the ends and the number of the `first_codes` among them. Raises Invalid if there are none."""
    totals = first_codes.aggregate(first=Min("code"), last=Max("code"), count=Count("pk"))
    if not totals["count"]:
        raise Invalid(_("The list has no codes of this brand."))
    return Selection(brand, codes, **totals)


def run_list(run: runner.Run) -> None:
    """Job handler: print the codes that the list shows now to the user who started the job."""
    printed = PrintRun.objects.select_related("brand").filter(job=run.job).first()
    by = run.job.created_by
    if printed is None or by is None or not may_print(by, printed.brand_id):
        raise Forbidden(_("The person who started this may no longer print these codes."))
    with timezone.override(run.parameters["time_zone"]):
        runs.print_codes(run=run, printed=printed, selection=list_selection(by, printed.brand, run.parameters["query"]))


LIST_PRINT = JobKind(
    name="print-list",
    label=gettext_lazy("Print codes from a list"),
    run=run_list,
    on_cancel=NO_FILE,
    visible_with="authcodes.printrun",
    details="print_run",
)
