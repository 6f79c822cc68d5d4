"""Pages about brands, users, roles, keys and the audit log."""
