"""A brand's legal texts: which are in force, and which language a customer reads."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.translation import gettext as _

from brands.models.legal_texts import LegalText
from brands.models.tenants import Brand
from core.errors import Invalid

FALLBACK = "en"


def in_force(*, brand: Brand, language: str, at: datetime) -> list[LegalText]:
    """For each kind, the newest version in force: in this language, else in English, else in any."""
    chosen: dict[str, LegalText] = {}
    for row in all_in_force(brand=brand, at=at):
        if row.kind not in chosen or rank(row, language) < rank(chosen[row.kind], language):
            chosen[row.kind] = row
    return [chosen[kind] for kind in LegalText.Kind.values if kind in chosen]


def rank(row: LegalText, language: str) -> tuple[bool, bool, str]:
    return (row.language != language, row.language != FALLBACK, row.language)


def all_in_force(*, brand: Brand, at: datetime) -> QuerySet[LegalText]:
    """The same in all languages. Runs no query for a brand without texts."""
    if not brand.has_legal_texts:
        return LegalText.objects.none()
    return LegalText.objects.filter(~Exists(newer_versions(at)), brand=brand, valid_from__lte=at)


def newer_versions(at: datetime) -> QuerySet[LegalText]:
    """The newer versions in force that replace the text of the outer query."""
    return LegalText.objects.filter(
        brand=OuterRef("brand"), kind=OuterRef("kind"), version__gt=OuterRef("version"), valid_from__lte=at
    )


def checked(*, brand: Brand, ids: Iterable[int], at: datetime) -> list[int]:
    """The ids of texts that a customer was shown. Raises Invalid unless they are one of each kind in force."""
    kinds: dict[int, str] = dict(all_in_force(brand=brand, at=at).values_list("pk", "kind"))
    chosen = sorted(set(ids))
    known = [kinds[pk] for pk in chosen if pk in kinds]
    if len(known) != len(chosen) or sorted(known) != sorted(set(kinds.values())):
        message = _("These are not the texts that are in force. Show the customer the current ones.")
        raise Invalid(message, details={"fields": {"legal_texts": [message]}})
    return chosen


def mark_brand(brand_id: int) -> None:
    """Note that the brand has texts; without the note they are never queried."""
    Brand.objects.filter(pk=brand_id, has_legal_texts=False).update(has_legal_texts=True)
