"""A brand's legal texts: which are in force, and in which language a customer reads them."""

from collections.abc import Iterable
from datetime import datetime

from django.utils.translation import gettext as _

from brands.models.legal_texts import LegalText
from brands.models.tenants import Brand
from core.errors import Invalid

FALLBACK = "en"


def in_force(*, brand: Brand, language: str, at: datetime) -> list[LegalText]:
    """Of each kind the newest version that has begun, in this language, else in English, else in any."""
    chosen: dict[str, LegalText] = {}
    for row in all_in_force(brand=brand, at=at):
        if row.kind not in chosen or rank(row, language) < rank(chosen[row.kind], language):
            chosen[row.kind] = row
    return [chosen[kind] for kind in LegalText.Kind.values if kind in chosen]


def rank(row: LegalText, language: str) -> tuple[bool, bool, str]:
    return (row.language != language, row.language != FALLBACK, row.language)


def all_in_force(*, brand: Brand, at: datetime) -> list[LegalText]:
    """The same in all languages. A brand without texts is asked for none."""
    if not brand.has_legal_texts:
        return []
    rows = list(LegalText.objects.filter(brand=brand, valid_from__lte=at))
    newest = {kind: max((row.version for row in rows if row.kind == kind), default=0) for kind in LegalText.Kind.values}
    return [row for row in rows if row.version == newest[row.kind]]


def checked(*, brand: Brand, ids: Iterable[int], at: datetime) -> list[int]:
    """The ids of texts that a customer was shown. Raises Invalid unless they are one of each kind that is in force."""
    rows = {row.pk: row for row in all_in_force(brand=brand, at=at)}
    chosen = sorted(set(ids))
    known = [rows[pk].kind for pk in chosen if pk in rows]
    if len(known) != len(chosen) or sorted(known) != sorted({row.kind for row in rows.values()}):
        message = _("These are not the texts that are in force. Show the customer the current ones.")
        raise Invalid(message, details={"fields": {"legal_texts": [message]}})
    return chosen


def mark_brand(brand_id: int) -> None:
    """Note that the brand has texts: only then anything looks for them."""
    Brand.objects.filter(pk=brand_id, has_legal_texts=False).update(has_legal_texts=True)
