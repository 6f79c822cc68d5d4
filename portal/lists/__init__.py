"""Lists: counts, pages, filters, columns."""
