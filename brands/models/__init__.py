"""Brands, people, credentials and the audit log."""

from brands.models import (
    audit,
    credentials,
    customer_word,
    idempotent_requests,
    legal_texts,
    people,
    quotas,
    saved_lists,
    tenants,
    undo_offers,
)
