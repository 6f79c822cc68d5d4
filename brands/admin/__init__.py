"""The portal's pages about brands and people."""

from brands.admin import api_keys, audit, brands, memberships, quotas, stopped_attempts, users

__all__ = ["api_keys", "audit", "brands", "memberships", "quotas", "stopped_attempts", "users"]
