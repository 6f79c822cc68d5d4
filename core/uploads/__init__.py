"""Uploads that could take a process's memory or time: read by programs of their own, within bounds."""
