"""Limits and messages that all ways of assigning codes share."""

MAX_POINTS = 2**31 - 1
LOCATION_LENGTH = 120
TAKEN = "Auth code range already assigned"
