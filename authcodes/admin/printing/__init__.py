"""Pages about printing."""
