"""Credited orders: their returns, and points that are pending until they are released."""
