"""Pages for printing."""
