"""What becomes of credited orders: returns, and points that are pending until they are released."""
