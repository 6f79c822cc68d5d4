"""The HTTP edge of jobs."""
