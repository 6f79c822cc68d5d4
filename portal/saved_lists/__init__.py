"""Saved lists: filters under a name, and reports on a schedule."""
