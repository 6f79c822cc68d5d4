"""The names of the database's roles. Roles belong to the whole cluster, so their names begin with the database's."""

import hashlib
from collections.abc import Mapping
from typing import Any

MAX_NAME_BYTES = 63  # bytes of a name in PostgreSQL
APPLICATION, TENANT = "_app", "_tenant"


def application(settings: Mapping[str, Any]) -> str:
    """The role of web processes, workers and commands: it reads and writes rows, and owns nothing."""
    return _prefix(settings) + APPLICATION


def tenant(settings: Mapping[str, Any]) -> str:
    """The role for one brand's staff, keys and customers: row-level security shows only that brand's rows."""
    return _prefix(settings) + TENANT


def _prefix(settings: Mapping[str, Any]) -> str:
    """DATABASE_ROLES, or the database's name. A long name is cut and ends with a hash to keep it unique."""
    name = str(settings.get("ROLES") or settings["NAME"])
    if len(name.encode()) <= MAX_NAME_BYTES - len(TENANT):
        return name
    return f"{name.encode()[:40].decode(errors='ignore')}_{hashlib.sha256(name.encode()).hexdigest()[:12]}"
