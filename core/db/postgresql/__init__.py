"""Django's PostgreSQL backend with additions for the hot path: cheap health checks and one prepared cursor."""
