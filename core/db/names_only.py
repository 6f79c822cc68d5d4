"""Migrations that give models and fields other names for people, and change nothing in the database."""

from typing import TYPE_CHECKING, Any

from django.db import migrations

if TYPE_CHECKING:
    from django.db.backends.base.schema import BaseDatabaseSchemaEditor
    from django.db.migrations.state import ProjectState


class NamesOnly(migrations.Migration):
    """Operations that only the state of the models knows: `AlterField` and `AlterModelOptions` of verbose names.

    Django would make the models of the whole project again for each of a hundred operations. None of them needs the
    models, so they are made once, by whatever migration follows.
    """

    def apply(
        self,
        project_state: "ProjectState",
        schema_editor: "BaseDatabaseSchemaEditor",  # noqa: ARG002 - Django calls it so
        collect_sql: bool = False,  # noqa: ARG002, FBT001, FBT002 - as above
    ) -> "ProjectState":
        made: dict[str, Any] = project_state.__dict__
        made.pop("apps", None)
        return self.mutate_state(project_state, preserve=False)

    def unapply(
        self,
        project_state: "ProjectState",
        schema_editor: "BaseDatabaseSchemaEditor",  # noqa: ARG002 - as above
        collect_sql: bool = False,  # noqa: ARG002, FBT001, FBT002 - as above
    ) -> "ProjectState":
        return project_state
