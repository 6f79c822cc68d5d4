"""Merges of two accounts of one person, and their undo."""
