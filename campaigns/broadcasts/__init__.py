"""Broadcasts: audience, planning, sending in portions, and figures."""
