"""Earning rules: what an action earns."""
