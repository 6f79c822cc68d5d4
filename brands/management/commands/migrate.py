"""Django's `migrate`, as the owner of the tables, and then the rights of the roles that work with them."""

from typing import Any, cast

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections

from brands import database_roles
from brands.postgresql.base import DatabaseWrapper


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        connection = cast("DatabaseWrapper", connections[options["database"]])
        login = connection.settings_dict["USER"]
        with connection.as_owner():
            if not connection.is_guarded or options["plan"] or options["check_unapplied"]:
                super().handle(*args, **options)
                return
            try:
                database_roles.make(connection, login=login)
            except database_roles.RolesMissingError as missing:
                message = (
                    f"This login may make no roles. Have an administrator run, and then migrate again:\n\n{missing}"
                )
                raise CommandError(message) from missing
            super().handle(*args, **options)
            changed = database_roles.apply(connection)
        if changed and options["verbosity"] >= 1:
            self.stdout.write(f"Rights and policies of {len(changed)} tables are up to date.")
