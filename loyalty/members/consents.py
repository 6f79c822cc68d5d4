"""Consents of customers to a brand's terms and privacy notice; personal_data.py writes Consent as well."""

from datetime import datetime

from brands.models.tenants import Brand
from loyalty.models.consents import Consent


def links_of(brand: Brand) -> dict[str, str]:
    """What somebody who registers with the brand consents to; empty texts where it asks for nothing."""
    return {"terms_url": brand.terms_url, "privacy_url": brand.privacy_url}


def record(*, user_id: int, brand_id: int, terms_url: str, privacy_url: str, at: datetime) -> None:
    """Keep that a customer consented to these; nothing where the brand asks for nothing. Joins a transaction."""
    if terms_url or privacy_url:
        Consent.objects.create(
            user_id=user_id, brand_id=brand_id, terms_url=terms_url, privacy_url=privacy_url, consented_at=at
        )
