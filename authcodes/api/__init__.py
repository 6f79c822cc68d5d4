"""The HTTP edge of codes and scans: reads a request, makes one call, serialises the result."""
