"""Prints the SQL that an administrator runs once if the tables' owner may not create roles."""

from typing import Any, cast

from django.core.management.base import BaseCommand
from django.db import connection

from brands.isolation import database_roles
from core.db.postgresql.base import DatabaseWrapper


class Command(BaseCommand):
    help = "Print the SQL that makes the database's roles, for an administrator."
    requires_system_checks: list[str] = []

    def handle(self, *_args: Any, **_options: Any) -> None:
        wrapper = cast("DatabaseWrapper", connection)
        for statement in database_roles.preparation(wrapper, login=wrapper.settings_dict["USER"]):
            self.stdout.write(f"{statement};")
