"""Limits and messages that all ways of assigning codes share."""

from django.utils.translation import gettext_noop

MAX_POINTS = 2**31 - 1
LOCATION_LENGTH = 120
TAKEN = gettext_noop("Auth code range already assigned")  # the specification's words
