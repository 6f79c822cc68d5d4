"""Recalled batches, and the customers affected."""
