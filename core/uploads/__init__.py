"""Uploads that could exhaust a process's memory or time: read by separate programs, within limits."""
