"""Customers' progress in campaigns."""
