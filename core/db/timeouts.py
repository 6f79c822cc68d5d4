"""Timeouts of statements that wait for another transaction, or change many rows."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import OperationalError, transaction

from core.db.outages import QUERY_CANCELED, sqlstate_of

SET_LONG_TIMEOUT = "SET LOCAL statement_timeout = '15min'"  # until the end of the transaction


def add_session_options(options: str) -> None:
    """Add PostgreSQL options to every connection that this process opens. PgBouncer rejects them: there, the role or
    the database sets them."""
    for database in settings.DATABASES.values():
        if "options" in database["OPTIONS"]:
            database["OPTIONS"]["options"] += f" {options}"


@contextmanager
def rollback_on_timeout() -> Iterator[None]:
    """A transaction that ends without an error, and without effect, when a statement reaches statement_timeout.

    For figures that a page can do without. Other errors of the database are raised.
    """
    try:
        with transaction.atomic():
            yield
    except OperationalError as error:
        if sqlstate_of(error) != QUERY_CANCELED:
            raise
