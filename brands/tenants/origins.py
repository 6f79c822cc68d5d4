"""Checks a request's origin: its Origin header must name a hostname or a web origin of the brand. It restricts access,
and never grants any.
"""

import re

from brands.errors import OriginNotAllowed
from core.db import sql
from core.web.web_origins import DEFAULT_PORTS, MAX_ORIGIN_LENGTH

# A browser's origin, or the bare hostname; no path, user or query.
SHAPE = re.compile(
    r"(?:(?P<scheme>[a-z][a-z0-9+.-]*)://)?(?P<host>[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)\.?(?::(?P<port>[0-9]{1,5}))?/?"
)

BELONGS = """
SELECT 1 FROM brands_brandhostname
WHERE hostname IN (%(host)s::text, %(host_and_port)s::text) AND brand_id = %(brand_id)s::bigint
UNION ALL
SELECT 1 FROM brands_brand WHERE id = %(brand_id)s::bigint AND %(origin)s::text = ANY(web_origins)
"""


def check(*, origin: str | None, brand_id: int) -> None:
    """Raises OriginNotAllowed unless `origin` names a hostname of the brand, or is one of its web origins.

    A hostname stored with a port requires that port; one without a port matches any.
    """
    shape = SHAPE.fullmatch(origin.strip(" ").lower()) if origin and len(origin) <= MAX_ORIGIN_LENGTH else None
    if shape is None:
        raise OriginNotAllowed
    host, port = shape["host"], shape["port"] or DEFAULT_PORTS.get(shape["scheme"] or "https", "")
    names = {"host": host, "host_and_port": f"{host}:{port.lstrip('0')}", "brand_id": brand_id, "origin": origin}
    if sql.row(BELONGS, names) is None:
        raise OriginNotAllowed
