"""API access for a brand's own systems and staff: the caller, their permissions, and idempotent writes."""
