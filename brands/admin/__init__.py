"""The portal's pages about brands and people."""

from brands.admin import api_keys, audit, brands, memberships, quotas, users

__all__ = ["api_keys", "audit", "brands", "memberships", "quotas", "users"]
