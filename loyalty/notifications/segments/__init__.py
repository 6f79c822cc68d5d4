"""Notifications and segments: broadcasts to their members, and automatic notifications limited to them."""
