"""What only the tables' owner may do for Django."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from django.db.backends.postgresql import operations

if TYPE_CHECKING:
    from core.db.postgresql.base import DatabaseWrapper


class DatabaseOperations(operations.DatabaseOperations):
    def execute_sql_flush(self, sql_list: Iterable[str]) -> Any:
        """The application's role may not TRUNCATE."""
        with cast("DatabaseWrapper", self.connection).as_owner():
            return super().execute_sql_flush(sql_list)
