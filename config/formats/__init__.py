"""Formats of the portal's days and times by language. Django's English formats are American and lack the time zone."""
