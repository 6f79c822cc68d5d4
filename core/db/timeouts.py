"""How long a statement may take that waits for another transaction, or changes many rows."""

from django.conf import settings

SET_LONG_TIMEOUT = "SET LOCAL statement_timeout = '15min'"  # until the end of the transaction


def add_session_options(options: str) -> None:
    """Have every connection that this process opens begin with these options of PostgreSQL. Behind PgBouncer, which
    refuses them, the role or the database sets them."""
    for database in settings.DATABASES.values():
        if "options" in database["OPTIONS"]:
            database["OPTIONS"]["options"] += f" {options}"
