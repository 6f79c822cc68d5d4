"""Calls to other people's servers."""
