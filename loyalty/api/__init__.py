"""The HTTP edge of loyalty: reads a request, makes one call, presents the answer."""
