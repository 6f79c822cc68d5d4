"""Scans and accruals."""
