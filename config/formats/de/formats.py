"""Moments and the portal's days are short: 29.10.2026, 18:00 UTC. Customers get Django's formats: 29. Oktober 2026.

Form fields accept the browser's format (ISO 8601) and German dates.
"""

DATETIME_FORMAT = "d.m.Y, H:i T"
SHORT_DATE_FORMAT = "d.m.Y"
SHORT_DATETIME_FORMAT = "d.m.Y, H:i T"
YEAR_MONTH_FORMAT = "M Y"
DATE_INPUT_FORMATS = ["%Y-%m-%d", "%d.%m.%Y"]
DATETIME_INPUT_FORMATS = ["%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M"]
