"""The HTTP layer of loyalty: parses a request, makes one call, serialises the response."""
