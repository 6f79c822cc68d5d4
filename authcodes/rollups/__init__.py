"""Rollups of the scans of closed days."""
