"""As browsers write numbers in Arabic: 12,500.5. Django's own formats do not group them."""

DECIMAL_SEPARATOR = "."
THOUSAND_SEPARATOR = ","
NUMBER_GROUPING = 3
