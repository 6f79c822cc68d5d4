"""The framework of the Django admin."""
