"""The HTTP edge of codes and scans: reads a request, makes one call, presents the answer."""
