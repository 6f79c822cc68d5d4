"""Row-level security: the database's roles and policies that keep brands apart."""
