"""Pages of broadcasts."""
