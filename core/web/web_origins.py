"""Web origins: scheme, host and port of a website, written as browsers write them in the Origin header."""

import re

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

MAX_ORIGIN_LENGTH = 270  # characters: a scheme, a host of 253 and a port
MAX_HOST_LENGTH = 253
DEFAULT_PORTS = {"https": "443", "http": "80"}
LOCAL_HOSTS = {"localhost", "127.0.0.1"}  # where a developer's browser may use http
LABEL = r"(?!-)[a-z0-9-]{1,63}(?<!-)"
SHAPE = re.compile(rf"(?P<scheme>https?)://(?P<host>{LABEL}(?:\.{LABEL})*)(?::(?P<port>[1-9][0-9]{{0,4}}))?")


def is_web_origin(text: str) -> bool:
    """Whether browsers send exactly this for a page loaded with https, or with http from this machine."""
    shape = SHAPE.fullmatch(text) if len(text) <= MAX_ORIGIN_LENGTH else None
    if shape is None or len(shape["host"]) > MAX_HOST_LENGTH:
        return False
    if shape["scheme"] == "http" and shape["host"] not in LOCAL_HOSTS:
        return False
    return shape["port"] is None or (int(shape["port"]) <= 65535 and shape["port"] != DEFAULT_PORTS[shape["scheme"]])


def canonical(typed: str) -> str:
    """A typed origin as browsers write it: lowercase, without a final slash and without the scheme's default port."""
    origin = typed.strip().lower().removesuffix("/")
    scheme, _separator, _remaining = origin.partition("://")
    return origin.removesuffix(f":{DEFAULT_PORTS.get(scheme, '')}")


def validate_web_origin(text: str) -> None:
    """Raises ValidationError for what is not a web origin."""
    if not is_web_origin(text):
        message = _(
            "'%(origin)s' is not a valid web origin. Enter one such as https://shop.example.com: https, the host and, "
            "if needed, a port, without a path or *. Only localhost may use http."
        )
        raise ValidationError(message % {"origin": text[:100]})
