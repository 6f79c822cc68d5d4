"""What a scanner read, as every door reads it: see brands.scanned, where the budgets for guessing need it too."""

from brands.scanned import LONGEST_INPUT, Reading, read

__all__ = ["LONGEST_INPUT", "Reading", "read"]
