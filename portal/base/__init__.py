"""The common parts of all portal pages."""
