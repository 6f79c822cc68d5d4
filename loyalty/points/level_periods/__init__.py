"""Level periods: levels are reached by the points of a period, and must be renewed at their end."""
