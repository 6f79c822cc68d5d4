"""Batches called back, and the customers they concern."""
