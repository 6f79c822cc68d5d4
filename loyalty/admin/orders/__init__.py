"""Pages about orders: what was returned, and what other currencies count for."""
