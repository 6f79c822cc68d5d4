"""Wallet passes: their content, their issuers, and how phones and platforms learn of changes."""
