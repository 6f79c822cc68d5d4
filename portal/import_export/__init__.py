"""Import and export of lists as files."""
