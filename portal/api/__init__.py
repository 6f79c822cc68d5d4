"""Reference data over HTTP, in and out as files."""
