"""Level periods: levels that are reached by the points of a period, kept until an end, and then needed again."""
