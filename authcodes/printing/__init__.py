"""Printing codes."""
