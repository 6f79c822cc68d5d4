"""Tests that start their own processes: no other worker may take their events."""
