"""Redis: its connection, rate limits, circuit breakers."""
