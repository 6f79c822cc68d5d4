"""Django's `migrate`, run as the tables' owner, followed by the rights of the roles that use the tables."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from django.conf import settings
from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder
from django.db.migrations.state import ProjectState

from brands.isolation import database_roles
from core.db.postgresql.base import DatabaseWrapper

# Migrations that only existed in versions before the first release.
UNRELEASED = {("brands", "0001_people_and_tenants"), ("brands", "0003_api_key_scopes")}


class Command(migrate.Command):
    def execute(self, *args: Any, **options: Any) -> str | None:
        """Runs the checks as the owner, too: the other roles may not exist yet."""
        with connection_of(options).as_owner(), rendering_new_models_only():
            return super().execute(*args, **options)

    def handle(self, *args: Any, **options: Any) -> None:
        connection = connection_of(options)
        reject_unreleased_schema(connection)
        if not connection.is_guarded or options["plan"] or options["check_unapplied"]:
            super().handle(*args, **options)
            return
        try:
            database_roles.make(connection, login=settings.DATABASES[options["database"]]["USER"])
        except database_roles.RolesMissingError as missing:
            message = f"This login may make no roles. Have an administrator run, and then migrate again:\n\n{missing}"
            raise CommandError(message) from missing
        super().handle(*args, **options)
        changed = database_roles.apply(connection)
        if changed and options["verbosity"] >= 1:
            self.stdout.write(f"Rights and policies of {len(changed)} tables are up to date.")


@contextmanager
def rendering_new_models_only() -> Iterator[None]:
    """When a model is created, render only that one: nothing refers to it yet, so nothing else can have changed.

    Rendering all related models each time takes nine tenths of a first `migrate`.
    """
    original = ProjectState.reload_model

    def reload_model(self: ProjectState, app_label: str, model_name: str, delay: bool = False) -> None:  # noqa: FBT001, FBT002 - as Django calls it
        if "apps" in self.__dict__ and model_name not in self.apps.all_models[app_label]:
            self.apps.render_multiple([self.models[app_label, model_name]])
        else:
            original(self, app_label, model_name, delay)

    ProjectState.reload_model = reload_model  # type: ignore[method-assign]
    try:
        yield
    finally:
        ProjectState.reload_model = original  # type: ignore[method-assign]


def reject_unreleased_schema(connection: DatabaseWrapper) -> None:
    """Raise CommandError for a database of a version before the first release: its migrations no longer exist."""
    if not UNRELEASED.isdisjoint(MigrationRecorder(connection).applied_migrations()):
        message = (
            "This database was made by a version before the first release and cannot be migrated. "
            "Use an empty database, or with bin/run another DATA_DIR; keep the old one for the version that made it."
        )
        raise CommandError(message)


def connection_of(options: dict[str, Any]) -> DatabaseWrapper:
    return cast("DatabaseWrapper", connections[options["database"]])
