"""How migrations change tables."""

from typing import Any

from django.db.backends.postgresql import schema
from django.db.models import Field


class DatabaseSchemaEditor(schema.DatabaseSchemaEditor):
    """Also finds the CHECK of an altered field outside the connection's `data_type_check_constraints`."""

    def _field_db_check(self, field: "Field[Any, Any]", field_db_params: Any) -> Any:
        check_of = getattr(field, "check_of", None)
        if check_of:
            return check_of("__column_name__")
        return super()._field_db_check(field, field_db_params)  # type: ignore[misc] # missing in the stubs
