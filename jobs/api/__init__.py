"""The HTTP API of jobs."""
