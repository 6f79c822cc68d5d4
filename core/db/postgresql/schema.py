"""How migrations change tables."""

from typing import Any

from django.db.backends.postgresql import schema
from django.db.models import Field


class DatabaseSchemaEditor(schema.DatabaseSchemaEditor):
    """Django's, which knows the CHECK of a field that was altered only if it comes from the connection's own table."""

    def _field_db_check(self, field: "Field[Any, Any]", field_db_params: Any) -> Any:
        check_of = getattr(field, "check_of", None)
        if check_of:
            return check_of("__column_name__")
        return super()._field_db_check(field, field_db_params)  # type: ignore[misc] # missing in the stubs
