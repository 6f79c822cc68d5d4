"""Calls to third-party servers."""
