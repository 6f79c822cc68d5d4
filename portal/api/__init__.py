"""Import and export of reference data over HTTP, as files."""
