"""Django's backend for PostgreSQL, with what a hot path needs: cheap health checks and one prepared cursor."""
