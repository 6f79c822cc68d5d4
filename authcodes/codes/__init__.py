"""Codes: their numbers, tags, batches, and what is set on them."""
