"""Search of a brand's places by a part of their name, for filters and suggestions."""

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

# Places that one text may match; a list filtered by more is of no use.
MAX_MATCHES = 1000
MAX_SUGGESTED = 20
# Different places read for each brand, and scans read on days without a rollup.
MAX_KNOWN = 20_000
MAX_OPEN_SCANS = 100_000

FETCH_CLOSED_PLACES = query_values(
    "authcodes/places/sql/fetch_places.sql", "name", table="authcodes_batchplacerollup", place="location"
)
FETCH_OPEN_PLACES = query_values("authcodes/places/sql/fetch_open_places.sql", "name")
# The locations that staff and imports write: where codes are kept, and where they were assigned to.
FETCH_PLACES_OF_CODES = {
    column: query_values("authcodes/places/sql/fetch_places.sql", "name", table="authcodes_authcode", place=column)
    for column in ("inventory_location", "location")
}
SCANNED = "scanned"


class TooManyPlaces(Invalid):
    """The text matches more places than a list can be filtered by."""


def scanned_places(brands: Iterable[Brand]) -> list[str]:
    """Every place where the brands' codes were scanned. Two statements, and one for each group of brands with the same
    time zone and closed days.
    """
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
    """All values of `inventory_location` or `location` in the brands' codes. One statement."""
    ids = [brand.pk for brand in brands]
    return sorted(set(FETCH_PLACES_OF_CODES[column].all(brands=ids, most=MAX_KNOWN))) if ids else []


def known(of: str, brands: Iterable[Brand]) -> list[str]:
    """The places of the brands: where codes were scanned (`SCANNED`), or the values of a column of codes."""
    return scanned_places(brands) if of == SCANNED else places_of_codes(brands, of)


def codes_at(column: str, places: Sequence[str]) -> Q:
    """Codes with one of these places in the column. Its partial index has only codes with a place."""
    return Q(**{f"{column}__gt": "", f"{column}__in": list(places)})


def find(typed: str, known: Sequence[str]) -> list[str]:
    """The known places that `typed` matches: the place of that name, else all that contain each of its words.

    Ignores case and diacritics. Raises Invalid for text that cannot be a place name, and TooManyPlaces.
    """
    typed = checked(typed)
    if typed in known:
        return [typed]
    result = _matching(typed, known)
    if len(result) > MAX_MATCHES:
        message = _("More than %(most)d places match “%(typed)s”. Type more of the name.")
        raise TooManyPlaces(message % {"most": MAX_MATCHES, "typed": typed}, details={"field": "location"})
    return result


def suggested(typed: str, known: Sequence[str]) -> list[str]:
    """The best few matches, those that start with the text first. Raises Invalid."""
    beginning = folded(checked(typed))
    result = _matching(typed, known)
    return sorted(result, key=lambda name: (not folded(name).startswith(beginning), name))[:MAX_SUGGESTED]


def checked(typed: str) -> str:
    """Strip surrounding whitespace. Raises Invalid."""
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
    """Lower case, without diacritics."""
    return "".join(each for each in unicodedata.normalize("NFKD", text.casefold()) if not unicodedata.combining(each))
