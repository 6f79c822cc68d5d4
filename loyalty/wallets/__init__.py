"""Wallet passes: what is on them, who makes them, and how phones and platforms hear of changes."""
