"""The connection. DATABASES names this package as its ENGINE."""

import select
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import psycopg
from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base, operations, schema
from django.db.models import Field
from psycopg.types.json import JsonbLoader, JsonLoader

from core.db import row_guard
from core.db.postgresql import loaders, roles

INERROR = psycopg.pq.TransactionStatus.INERROR
# Not `SELECT set_config(...)`: after a query, a transaction can no longer choose its isolation level.
ASSUME = (
    "SET {reach} role = {0}; SET {reach} loyalty.brand_ids = {1}; SET {reach} loyalty.user_id = {2}; "
    "SET {reach} loyalty.customer_id = {3}"
)
ASSUME_RESULTS = 4


class DatabaseOperations(operations.DatabaseOperations):
    connection: "DatabaseWrapper"

    def execute_sql_flush(self, sql_list: Iterable[str]) -> Any:
        """The application's role has no TRUNCATE privilege."""
        with self.connection.as_owner():
            return super().execute_sql_flush(sql_list)


class DatabaseSchemaEditor(schema.DatabaseSchemaEditor):
    """Also finds the CHECK of an altered field outside the connection's `data_type_check_constraints`."""

    def _field_db_check(self, field: "Field[Any, Any]", field_db_params: Any) -> Any:
        check_of = getattr(field, "check_of", None)
        if check_of:
            return check_of("__column_name__")
        return super()._field_db_check(field, field_db_params)  # type: ignore[misc] # missing in the stubs


class DatabaseWrapper(base.DatabaseWrapper):
    """Django's wrapper, which polls the socket instead of sending SELECT 1, and keeps a cursor for core.db.sql.

    Before each statement it sets the role and the brands that core.db.row_guard requires. It sets them for the
    session, or for the transaction if PgBouncer gives each transaction another session. It remembers the last
    setting, so a statement with the same scope as the previous one costs nothing.
    """

    ops_class = DatabaseOperations
    SchemaEditorClass = DatabaseSchemaEditor
    _prepared: "psycopg.RawCursor[Any] | None" = None
    _assumed: tuple[bool, row_guard.Scope | None] | None = None  # None: unknown
    is_owner = False  # inside of `as_owner`

    @property
    def is_pooled(self) -> bool:
        """Whether a session lasts no longer than a transaction, as behind PgBouncer."""
        return bool(self.settings_dict.get("POOLED"))

    @property
    def is_guarded(self) -> bool:
        """Whether roles are set at all. Connections without a database create and drop databases."""
        return bool(self.settings_dict.get("GUARD")) and self.alias != NO_DB_ALIAS

    @property
    def required_scope(self) -> tuple[bool, row_guard.Scope | None]:
        """The owner flag and the scope of the next statement; `_session_settings` translates them for PostgreSQL."""
        return self.is_owner, row_guard.current()

    @contextmanager
    def as_owner(self) -> Iterator[None]:
        """Run the block as the tables' owner, for migrations and maintenance. Uses the login in DATABASE_OWNER_URL.
        Without one, the application's own login owns the tables and resets its role."""
        before, was_owner = self.settings_dict, self.is_owner
        login = before.get("OWNER")
        if login and not was_owner:
            self.close()
            self.settings_dict = {**before, **login, "POOLED": False}
        self.is_owner = True
        try:
            yield
        finally:
            self.is_owner = was_owner
            if login and not was_owner:
                self.close()
                self.settings_dict = before

    def get_new_connection(self, conn_params: Any) -> Any:
        connection = super().get_new_connection(conn_params)
        loaders.register(connection.adapters, self.timezone)
        return connection

    def init_connection_state(self) -> None:
        super().init_connection_state()
        self._assumed = None
        if not self.is_pooled:
            self.assume()

    def create_cursor(self, name: str | None = None) -> Any:
        if self.is_pooled and row_guard.current() is not None and not self.in_atomic_block and self.is_guarded:
            return OneTransactionCursor(self.connection, self._statement(local=True) + ";")
        self.assume()
        return super().create_cursor(name)

    def assume(self) -> None:
        """Set the required role and brands, unless they are set already."""
        requested = self.required_scope
        if self._assumed == requested or not self.is_guarded:
            return
        assert self.connection is not None  # noqa: S101 - the caller has connected
        if self.connection.info.transaction_status == INERROR:
            return  # only a rollback can follow
        if self.is_pooled and not self.in_atomic_block:
            return
        self._take_on()
        self._assumed = requested

    def assume_in_raw_transaction(self) -> None:
        """As `assume`, in a transaction that was begun on psycopg's connection without Django."""
        if self.is_guarded:
            self._take_on()

    def _take_on(self) -> None:
        with self.wrap_database_errors, psycopg.ClientCursor(self.connection) as cursor:
            try:
                cursor.execute(self._statement(local=self.is_pooled))
            except psycopg.errors.InvalidParameterValue as error:
                message = f"{error.diag.message_primary}. Run `manage.py migrate`: it makes the database's roles."
                raise psycopg.OperationalError(message) from error

    def _statement(self, *, local: bool) -> str:
        text = (psycopg.sql.quote(word) for word in self._session_settings())
        return ASSUME.format(*text, reach="LOCAL" if local else "SESSION")

    def _session_settings(self) -> tuple[str, str, str, str]:
        """The role, the brands, the user, and the customer to whose rows access is limited."""
        is_owner, scope = self.required_scope
        if is_owner:
            return "none", "", "", ""
        if scope is not None:
            return roles.tenant(self.settings_dict), scope.brand_ids, scope.user_id, scope.customer_id
        # Behind PgBouncer the login is already the application's: docs/operations/scale.md.
        return "none" if self.is_pooled else roles.application(self.settings_dict), "", "", ""

    def _commit(self) -> Any:
        # Set for the transaction only, or undone by a commit that fails.
        known, self._assumed = self._assumed, None
        result = super()._commit()  # type: ignore[misc] # missing in the stubs, as the two below
        self._assumed = None if self.is_pooled else known
        return result

    def _rollback(self) -> Any:
        self._assumed = None
        return super()._rollback()  # type: ignore[misc]

    def _savepoint_rollback(self, sid: str) -> None:
        try:
            super()._savepoint_rollback(sid)  # type: ignore[misc]
        finally:
            self._assumed = None

    def is_usable(self) -> bool:
        """Whether the next statement will find a server, and no failed transaction.

        A server that stopped or ended this session has sent a message, which waits in the socket. No message means
        that all is well, and the check costs no round trip.
        """
        connection = self.connection
        if connection is None or connection.closed or connection.pgconn.transaction_status == INERROR:
            return False
        poll = select.poll()
        poll.register(connection.pgconn.socket, select.POLLIN)
        return not poll.poll(0) or super().is_usable()

    @property
    def prepared(self) -> "psycopg.RawCursor[Any]":
        """The only cursor of this connection that binds $1, prepares on the server and decodes JSON."""
        self.assume()
        if self._prepared is None or self._prepared.connection is not self.connection:
            self._prepared = decoding(psycopg.RawCursor(self.connection))
        return self._prepared

    @property
    def named(self) -> "psycopg.Cursor[Any]":
        """As `prepared`, for %(name)s: query logs and counters can show it."""
        self.assume()
        return decoding(psycopg.Cursor(self.connection))


Decoding = TypeVar("Decoding", bound="psycopg.Cursor[Any]")


def decoding(cursor: Decoding) -> Decoding:
    """Make the cursor decode JSON. Django decodes it in model fields, which hand-written statements do not use."""
    cursor.adapters.register_loader("json", JsonLoader)
    cursor.adapters.register_loader("jsonb", JsonbLoader)
    return cursor


class OneTransactionCursor(base.Cursor):  # no types in the stubs
    """Sends the settings before a statement in the same message, and so in the same transaction."""

    def __init__(self, connection: Any, before: str) -> None:
        super().__init__(connection)  # type: ignore[call-arg]
        self.before = before

    def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
        assert isinstance(query, str)  # noqa: S101 - Django passes a string
        super().execute(self.before + query, params, **options)  # type: ignore[misc]
        for _each in range(ASSUME_RESULTS):
            self.nextset()  # type: ignore[attr-defined]
        return self
