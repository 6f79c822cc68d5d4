"""Checks of `manage.py check` on the isolation of brands: the database's roles, and the portal's own address."""

from typing import Any, cast

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as Caution
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections

from core.db.postgresql.base import DatabaseWrapper

ROLE = """
SELECT rolname,
       rolsuper OR rolbypassrls OR '{privilege}' = 'MEMBER' AND EXISTS (
           SELECT 1 FROM pg_roles s WHERE (s.rolsuper OR s.rolbypassrls) AND pg_has_role(r.oid, s.oid, 'MEMBER')
       ),
       EXISTS (SELECT 1 FROM pg_class
                WHERE relnamespace = 'public'::regnamespace AND pg_has_role(r.oid, relowner, '{privilege}'))
FROM pg_roles r WHERE rolname = {role}
"""


@register(Tags.database)
def check_current_role(databases: Any = None, **_more: Any) -> list[CheckMessage]:
    """Is the role with which the application works subject to row-level security?"""
    connection = cast("DatabaseWrapper", connections[DEFAULT_DB_ALIAS])
    if DEFAULT_DB_ALIAS not in (databases or ()) or connection.is_owner:
        return []
    if not connection.is_guarded:
        return [guard_is_off()]
    try:
        name, is_beyond, is_owner = role_attributes(connection, "current_user", "USAGE")
    except OperationalError as error:  # the roles do not exist yet, or the server is away
        return [Caution(str(error).strip(), id="brands.W001")]
    if not (is_beyond or is_owner):
        return []
    return [Error(warning_text(name, is_beyond=is_beyond), hint=HINT, id="brands.E001")]


@register(deploy=True)
def check_login_role(**_more: Any) -> list[CheckMessage]:
    """Could SQL injection into the application reset its role?"""
    connection = cast("DatabaseWrapper", connections[DEFAULT_DB_ALIAS])
    if not connection.is_guarded:
        return [guard_is_off()]
    try:
        name, is_beyond, is_owner = role_attributes(connection, "session_user", "MEMBER")
    except OperationalError:
        return []
    if not (is_beyond or is_owner):
        return []
    text = warning_text(name, is_beyond=is_beyond)
    text += " The connection gives that up, but injected SQL could take it back."
    return [Caution(text, hint=HINT, id="brands.W003")]


@register(deploy=True)
def check_portal_url(**_more: Any) -> list[CheckMessage]:
    """Is there an address that belongs to no brand, for links that give access to a user's account at every brand?"""
    if settings.PORTAL_URL:
        return []
    text = "PORTAL_URL is not set: password links for customers whom brands imported lead to a brand's hostname."
    return [Caution(text, hint="Set it to the portal's own address, see README.md.", id="brands.W004")]


HINT = "Give the application a login of its own, and DATABASE_OWNER_URL to migrate: docs/operations/configure.md."


def role_attributes(connection: DatabaseWrapper, role: str, privilege: str) -> tuple[str, bool, bool]:
    """The role's name, whether it may bypass row-level security, and whether it owns tables or has `privilege` on their
    owner: USAGE means inherited rights, MEMBER also those that SET ROLE gives."""
    with connection.cursor() as cursor:
        cursor.execute(ROLE.format(role=role, privilege=privilege))
        result: tuple[str, bool, bool] = cursor.fetchone()
        return result


def warning_text(name: str, *, is_beyond: bool) -> str:
    if is_beyond:
        return f"The application's database login or role {name} may bypass row-level security."
    return f"The application's database login or role {name} owns tables, so row-level security does not apply to it."


def guard_is_off() -> CheckMessage:
    text = "DATABASE_GUARD is off: a page that forgets its filter shows rows of every brand."
    return Caution(text, id="brands.W002")
