"""Codes: their numbers, tags, batches and settings."""
