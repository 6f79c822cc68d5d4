"""Notifications and segments: broadcasts to their members, and automatic notifications that only they get."""
