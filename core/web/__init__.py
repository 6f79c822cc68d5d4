"""Processing that applies to each request."""
