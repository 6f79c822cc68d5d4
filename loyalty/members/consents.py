"""Consents of customers to a brand's terms, privacy notice and own texts.

personal_data.py writes Consent as well.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from brands.identity import users
from brands.models.legal_texts import LegalText
from brands.models.tenants import Brand
from brands.tenants import legal_texts
from loyalty.models.members.consents import Consent


@dataclass(frozen=True, slots=True)
class Agreement:
    """A text in force, and when the customer agreed to this version of it."""

    text: LegalText
    agreed_at: datetime | None


def requested_consent(*, brand: Brand, text_ids: Sequence[int] | None, language: str, at: datetime) -> dict[str, Any]:
    """What a customer who registers consents to. Has no texts if the brand has none.

    `text_ids` are the ids of the texts shown; None means those in force in `language`. Raises Invalid.
    """
    if text_ids is None:
        ids = [row.pk for row in legal_texts.in_force(brand=brand, language=language, at=at)]
    else:
        ids = legal_texts.checked(brand=brand, ids=text_ids, at=at)
    return {"terms_url": brand.terms_url, "privacy_url": brand.privacy_url, "legal_texts": ids}


def record(
    *, user_id: int, brand_id: int, terms_url: str, privacy_url: str, legal_texts: Sequence[int], at: datetime
) -> None:
    """Record a customer's consent. Does nothing if the brand asks for none. Joins a transaction."""
    if terms_url or privacy_url or legal_texts:
        Consent.objects.create(
            user_id=user_id,
            brand_id=brand_id,
            terms_url=terms_url,
            privacy_url=privacy_url,
            legal_texts=list(legal_texts),
            consented_at=at,
        )


def agreements(*, user_id: int, brand: Brand, language: str, at: datetime) -> list[Agreement]:
    """Each text in force, with the time when the customer first agreed to this version in any language."""
    texts = legal_texts.in_force(brand=brand, language=language, at=at)
    rows = Consent.objects.filter(user=user_id, brand=brand).order_by("-consented_at") if texts else []
    moments = {pk: row.consented_at for row in rows for pk in row.legal_texts}
    known = LegalText.objects.filter(brand=brand, pk__in=moments).values_list("pk", "kind", "version")
    agreed: dict[tuple[str, int], datetime] = {}
    for pk, kind, version in known if moments else ():
        agreed[kind, version] = min(moments[pk], agreed.get((kind, version), moments[pk]))
    return [Agreement(text, agreed.get((text.kind, text.version))) for text in texts]


def give(*, user_id: int, brand: Brand, text_ids: Sequence[int], at: datetime) -> None:
    """Record that an existing customer agrees to the texts in force, unless they have agreed to all of them."""
    consent = requested_consent(brand=brand, text_ids=text_ids, language="", at=at)
    with transaction.atomic():
        users.lock_user(user_id=user_id)
        if not all(each.agreed_at for each in agreements(user_id=user_id, brand=brand, language="", at=at)):
            record(user_id=user_id, brand_id=brand.pk, at=at, **consent)


def export(user_id: int, brand_id: int) -> Iterator[dict[str, Any]]:
    """What the person consented to at the brand, and when, as JSON."""
    rows = list(Consent.objects.filter(user=user_id, brand=brand_id).order_by("consented_at", "id"))
    ids = {pk for row in rows for pk in row.legal_texts}
    texts = LegalText.objects.in_bulk(ids) if ids else {}
    for row in rows:
        known = [texts[pk] for pk in row.legal_texts if pk in texts]
        yield {
            "consented_at": row.consented_at,
            "terms_url": row.terms_url,
            "privacy_url": row.privacy_url,
            "legal_texts": [{"kind": each.kind, "version": each.version, "language": each.language} for each in known],
        }
