"""Broadcasts: who gets one, planning, sending in portions, and what came of it."""
