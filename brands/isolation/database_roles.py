"""The database's roles and their rights: the only code that creates them, at the end of every migrate."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from django.db import ProgrammingError, transaction

from brands.isolation import policies
from core.db.postgresql import roles

if TYPE_CHECKING:
    from core.db.postgresql.base import DatabaseWrapper

MAKE = """
DO $$ BEGIN
    CREATE ROLE {role} NOLOGIN NOBYPASSRLS;
EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;
END $$
"""
MISSING = "SELECT name FROM unnest(%s::text[]) name WHERE NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = name)"
MAY_MAKE = "SELECT rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user"
# The creator of a role is a member that may grant it; USAGE comes with the right to SET ROLE.
MAY_TAKE_ON = "SELECT pg_has_role(%s, %s, 'USAGE')"
# A comment alone would survive a restore without rights.
PRESENT = """
SELECT c.relname
FROM pg_class c
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p')
  AND obj_description(c.oid, 'pg_class') = 'database roles ' || (%(wanted)s::jsonb ->> c.relname)
  AND has_table_privilege(%(application)s, c.oid, 'SELECT')
  AND (NOT c.relrowsecurity OR EXISTS (SELECT 1 FROM pg_policy WHERE polrelid = c.oid AND polname = 'tenant_policy'))
"""


class RolesMissingError(Exception):
    """The roles do not exist and this login may not create them. The message is the SQL for an administrator."""


def names(connection: "DatabaseWrapper") -> tuple[str, str]:
    """The application's role and the tenants', quoted."""
    settings, quote = connection.settings_dict, connection.ops.quote_name
    return quote(roles.application(settings)), quote(roles.tenant(settings))


def make(connection: "DatabaseWrapper", *, login: str) -> None:
    """Create missing roles, and let `login` assume them. Raises RolesMissingError."""
    plain = [roles.application(connection.settings_dict), roles.tenant(connection.settings_dict)]
    with connection.cursor() as cursor:
        cursor.execute(MISSING, [plain])
        missing = cursor.fetchall()
        cursor.execute(MAY_MAKE)
        if missing and cursor.fetchone() != (True,):
            raise missing_error(connection, login)
        for role in names(connection) if missing else ():
            cursor.execute(MAKE.format(role=role))
        for name, role in zip(plain, names(connection), strict=True):
            cursor.execute(MAY_TAKE_ON, [login, name])
            if cursor.fetchone() != (True,):
                try:
                    cursor.execute(f"GRANT {role} TO {connection.ops.quote_name(login)}")
                except ProgrammingError as error:
                    raise missing_error(connection, login) from error


def missing_error(connection: "DatabaseWrapper", login: str) -> RolesMissingError:
    return RolesMissingError("\n".join(f"{line};" for line in preparation(connection, login=login)))


def preparation(connection: "DatabaseWrapper", *, login: str) -> Iterator[str]:
    """The SQL that an administrator runs once if the tables' owner may not create roles."""
    for role in names(connection):
        yield f"CREATE ROLE {role} NOLOGIN NOBYPASSRLS"
        yield f"GRANT {role} TO {connection.ops.quote_name(login)}"


def apply(connection: "DatabaseWrapper") -> list[str]:
    """Give each table the rights and policies that the models declare. Returns the tables that lacked any.

    Tables that are up to date are left alone: a change waits for all their readers.
    """
    application, tenant = names(connection)
    with connection.cursor() as cursor:
        cursor.execute(f"GRANT USAGE ON SCHEMA public TO {application}, {tenant}")
        cursor.execute(f"GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO {application}, {tenant}")
        existing = set(connection.introspection.table_names(cursor))
    guarded = {table.name: table for table in policies.tables() if table.name in existing}
    present = _present(connection, guarded)
    changed = [table for name, table in guarded.items() if name not in present]
    for table in changed:
        with transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            for statement in table.statements(application=application, tenant=tenant):
                cursor.execute(statement)
    return [table.name for table in changed]


def _present(connection: "DatabaseWrapper", expected: dict[str, Any]) -> set[str]:
    with connection.cursor() as cursor:
        prints = json.dumps({name: table.fingerprint for name, table in expected.items()})
        cursor.execute(PRESENT, {"wanted": prints, "application": roles.application(connection.settings_dict)})
        return {name for [name] in cursor.fetchall()}
