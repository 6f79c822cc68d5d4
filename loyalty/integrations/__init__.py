"""Webhooks and the external loyalty system."""
