"""The event bus: an inbox and outbox in PostgreSQL, its workers and retention."""
