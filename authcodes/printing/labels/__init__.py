"""Sheets of labels as PDF."""
