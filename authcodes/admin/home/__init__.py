"""Home, the first page of the portal."""
