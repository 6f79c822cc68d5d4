"""The connection: DATABASES names this package as its ENGINE."""

import select
from typing import Any

import psycopg
from django.db.backends.postgresql import base
from psycopg.types.json import JsonbLoader, JsonLoader

INERROR = psycopg.pq.TransactionStatus.INERROR


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's, where a look at the socket stands for its SELECT 1, and brands.sql keeps a cursor."""

    _prepared: "psycopg.Cursor[Any] | None" = None

    def is_usable(self) -> bool:
        """Whether the next statement will find a server, and no transaction that has failed.

        One that ended, or ended this session, said so: its words wait in the socket. Silence means that all is well,
        and costs no round trip.
        """
        connection = self.connection
        if connection is None or connection.closed or connection.pgconn.transaction_status == INERROR:
            return False
        poll = select.poll()
        poll.register(connection.pgconn.socket, select.POLLIN)
        return not poll.poll(0) or super().is_usable()

    @property
    def prepared(self) -> "psycopg.Cursor[Any]":
        """The one cursor of this connection that binds and prepares on the server, and decodes JSON."""
        if self._prepared is None or self._prepared.connection is not self.connection:
            self._prepared = psycopg.Cursor(self.connection)
            # Django has its fields decode JSON; here nobody else would.
            self._prepared.adapters.register_loader("json", JsonLoader)
            self._prepared.adapters.register_loader("jsonb", JsonbLoader)
        return self._prepared
