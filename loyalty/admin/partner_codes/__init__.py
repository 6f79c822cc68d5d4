"""Codes of partners that rewards hand out."""
