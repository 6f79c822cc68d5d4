"""Pages about orders: returned orders, and rates of other currencies."""
