"""Brands, people, credentials and the audit log."""

from brands.models.audit import AuditLogEntry
from brands.models.credentials import ApiKey, LoginSession
from brands.models.customer_words import CustomerWord
from brands.models.people import StaffRole, User
from brands.models.quotas import BrandQuota, QuotaNotice, StoppedAttempts
from brands.models.tenants import Brand, BrandHostname, Picture

__all__ = [
    "ApiKey",
    "AuditLogEntry",
    "Brand",
    "BrandHostname",
    "BrandQuota",
    "CustomerWord",
    "LoginSession",
    "Picture",
    "QuotaNotice",
    "StaffRole",
    "StoppedAttempts",
    "User",
]
