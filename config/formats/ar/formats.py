"""Numbers as browsers write them in Arabic: 12,500.5. Django's own Arabic formats do not group digits.

Moments and the portal's days look like this: 29 أكتوبر 2026, 18:00 UTC. Form fields use the browser's format (ISO
8601).
"""

DECIMAL_SEPARATOR = "."
THOUSAND_SEPARATOR = ","
NUMBER_GROUPING = 3
DATETIME_FORMAT = "j F Y, H:i T"
SHORT_DATE_FORMAT = "j F Y"
SHORT_DATETIME_FORMAT = "j F Y, H:i T"
YEAR_MONTH_FORMAT = "F Y"
DATE_INPUT_FORMATS = ["%Y-%m-%d"]
DATETIME_INPUT_FORMATS = ["%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M"]
