"""Identities: users, staff, roles, API keys, tokens."""
