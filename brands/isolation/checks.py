"""Checks of `manage.py check` on the isolation of brands: the database's roles, and the portal's own address."""

from typing import Any, cast

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as Caution
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections

from core.db.postgresql.base import DatabaseWrapper

ROLE = """
SELECT rolname, rolsuper OR rolbypassrls,
       EXISTS (SELECT 1 FROM pg_class WHERE relowner = r.oid AND relnamespace = 'public'::regnamespace)
FROM pg_roles r WHERE rolname = {role}
"""


@register(Tags.database)
def roles_guard(databases: Any = None, **_more: Any) -> list[CheckMessage]:
    """Is the role with which the application works subject to row-level security?"""
    connection = cast("DatabaseWrapper", connections[DEFAULT_DB_ALIAS])
    if DEFAULT_DB_ALIAS not in (databases or ()) or connection.is_owner:
        return []
    if not connection.is_guarded:
        return [off()]
    try:
        name, is_beyond, is_owner = role_attributes(connection, "current_user")
    except OperationalError as error:  # the roles do not exist yet, or the server is away
        return [Caution(str(error).strip(), id="brands.W001")]
    return (
        [Error(warning_text(name, is_beyond=is_beyond), hint=HINT, id="brands.E001")] if is_beyond or is_owner else []
    )


@register(deploy=True)
def login_guards(**_more: Any) -> list[CheckMessage]:
    """Could SQL injection into the application reset its role?"""
    connection = cast("DatabaseWrapper", connections[DEFAULT_DB_ALIAS])
    if not connection.is_guarded:
        return [off()]
    try:
        name, is_beyond, is_owner = role_attributes(connection, "session_user")
    except OperationalError:
        return []
    result = warning_text(name, is_beyond=is_beyond)
    return (
        [Caution(f"{result} It lays that aside as it connects.", hint=HINT, id="brands.W003")]
        if is_owner or is_beyond
        else []
    )


@register(deploy=True)
def portal_has_an_address(**_more: Any) -> list[CheckMessage]:
    """Is there an address that belongs to no brand, for links that give access to a user's account at every brand?"""
    if settings.PORTAL_URL:
        return []
    text = "PORTAL_URL is not set: links that set the password of whom brands imported lead to a brand's hostname."
    return [Caution(text, hint="Set it to the portal's own address: README.md.", id="brands.W004")]


HINT = "Give the application a login of its own, and DATABASE_OWNER_URL to migrate: docs/operations/configure.md."


def role_attributes(connection: DatabaseWrapper, role: str) -> tuple[str, bool, bool]:
    with connection.cursor() as cursor:
        cursor.execute(ROLE.format(role=role))
        result: tuple[str, bool, bool] = cursor.fetchone()
        return result


def warning_text(name: str, *, is_beyond: bool) -> str:
    if is_beyond:
        return f"The application's database login or role {name} may bypass row-level security."
    return f"The application's database login or role {name} owns the tables, so that row-level security spares it."


def off() -> CheckMessage:
    warning_text = "DATABASE_GUARD is off: a page that forgets its filter shows rows of every brand."
    return Caution(warning_text, id="brands.W002")
