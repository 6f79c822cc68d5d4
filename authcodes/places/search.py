"""Which of a brand's places somebody means who types a part of one; filters and suggestions ask here."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import timedelta
from functools import lru_cache

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from authcodes.dashboard.sources import groups
from brands.models.tenants import Brand
from core.db.statements import query_values
from core.errors import Invalid
from core.forms import typed_text

# Places that one text may mean: a list by more of them is not what anybody looks for.
MAX_MATCHES = 1000
MAX_SUGGESTED = 20
# Different places of one brand that are looked at, and scans of days that no rollup has yet.
MAX_KNOWN = 20_000
MAX_OPEN_SCANS = 100_000

FETCH_CLOSED_PLACES = query_values(
    "authcodes/places/sql/fetch_places.sql", "name", table="authcodes_batchplacerollup", place="location"
)
FETCH_OPEN_PLACES = query_values("authcodes/places/sql/fetch_open_places.sql", "name")
# Where codes are kept, and where they were assigned to: the columns that staff and imports write.
FETCH_PLACES_OF_CODES = {
    column: query_values("authcodes/places/sql/fetch_places.sql", "name", table="authcodes_authcode", place=column)
    for column in ("inventory_location", "location")
}
SCANNED = "scanned"


class TooManyPlaces(Invalid):
    """The text is a part of more places than a list can be narrowed to."""


def scanned_places(brands: Iterable[Brand]) -> list[str]:
    """Every place where one of the brands' codes was scanned. Two statements, and one for each zone."""
    brands = list(brands)
    if not brands:
        return []
    ids = [brand.pk for brand in brands]
    rows = set(FETCH_CLOSED_PLACES.all(brands=ids, most=MAX_KNOWN))
    for group in groups(brands, timezone.now()):
        since = group.midnight(group.until + timedelta(days=1)) if group.until else "-infinity"
        most = max(MAX_OPEN_SCANS // len(ids), 1)
        rows |= set(FETCH_OPEN_PLACES.all(brands=list(group.brand_ids), since=since, most=most))
    return sorted(rows)


def places_of_codes(brands: Iterable[Brand], column: str) -> list[str]:
    """Every value that codes of the brands have in `inventory_location` or `location`. One statement."""
    ids = [brand.pk for brand in brands]
    return sorted(set(FETCH_PLACES_OF_CODES[column].all(brands=ids, most=MAX_KNOWN))) if ids else []


def known(of: str, brands: Iterable[Brand]) -> list[str]:
    """The places of the brands: where codes were scanned (`SCANNED`), or what a column of codes holds."""
    return scanned_places(brands) if of == SCANNED else places_of_codes(brands, of)


def codes_at(column: str, places: Sequence[str]) -> Q:
    """Codes that have one of these in the column."""
    return Q(**{f"{column}__gt": "", f"{column}__in": list(places)})


def find(typed: str, known: Sequence[str]) -> list[str]:
    """The known places that `typed` means: the one of that name, else all that have each of its words as a part.

    Upper and lower case are the same, and so are letters with and without diacritics. Raises Invalid for what no place
    can be called, TooManyPlaces.
    """
    typed = checked(typed)
    if typed in known:
        return [typed]
    result = _matching(typed, known)
    if len(result) > MAX_MATCHES:
        terms = _("More than %(most)d places match “%(typed)s”. Type more of the name.")
        raise TooManyPlaces(terms % {"most": MAX_MATCHES, "typed": typed}, details={"field": "location"})
    return result


def suggested(typed: str, known: Sequence[str]) -> list[str]:
    """The few best matches: what begins so first. Raises Invalid."""
    beginning = folded(checked(typed))
    result = _matching(typed, known)
    return sorted(result, key=lambda name: (not folded(name).startswith(beginning), name))[:MAX_SUGGESTED]


def checked(typed: str) -> str:
    """Without space around it. Raises Invalid."""
    return typed_text.checked(
        typed,
        too_long=_("Type at most %(most)d characters of a place."),
        unprintable=_("Type the place without control characters."),
        details={"field": "location"},
    )


def _matching(typed: str, known: Sequence[str]) -> list[str]:
    terms = re.split(r"[\s,]+", folded(typed).strip(" ,"))
    return [name for name in known if all(word in folded(name) for word in terms)] if any(terms) else []


@lru_cache(maxsize=50_000)
def folded(text: str) -> str:
    """In lower case and without diacritics."""
    return "".join(each for each in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(each))
