"""Accounts, the ledger, levels, limits and expiry."""
