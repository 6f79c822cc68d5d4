"""Brands, people, credentials and the audit log."""

from brands.models.audit import AuditLogEntry
from brands.models.credentials import ApiKey, LoginSession
from brands.models.customer_word import CustomerWord
from brands.models.idempotent_requests import IdempotentRequest
from brands.models.legal_texts import LegalText
from brands.models.people import StaffRole, User
from brands.models.quotas import BrandQuota, QuotaMail, StoppedAttempts
from brands.models.saved_lists import SavedList
from brands.models.tenants import Brand, BrandHostname, Picture
from brands.models.undo_offers import UndoOffer

__all__ = [
    "ApiKey",
    "AuditLogEntry",
    "Brand",
    "BrandHostname",
    "BrandQuota",
    "CustomerWord",
    "IdempotentRequest",
    "LegalText",
    "LoginSession",
    "Picture",
    "QuotaMail",
    "SavedList",
    "StaffRole",
    "StoppedAttempts",
    "UndoOffer",
    "User",
]
