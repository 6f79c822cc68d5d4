"""Reads typed settings from the environment: from `NAME`, or from the file that `NAME_FILE` names."""

import logging
import re
from collections.abc import Callable, Collection
from importlib.util import find_spec
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured
from environ.fileaware_mapping import FileAwareMapping
from limits import parse

T = TypeVar("T")

# Not environ's own reading, which takes a value that begins with $, as one secret in fifty may, for another's name.
_environment = FileAwareMapping()


def value(name: str, default: T, cast: Callable[[str], T]) -> T:
    """The setting `name`, or `default` if unset or empty. Raises ImproperlyConfigured if it is invalid."""
    try:
        raw = _environment.get(name, "").strip()
        return cast(raw) if raw else default
    except (ValueError, KeyError, OSError, ImproperlyConfigured) as error:
        raise ImproperlyConfigured(f"{name} has a bad value: {error}") from error


def text(name: str, default: str = "") -> str:
    return value(name, default, str)


def at_least(minimum: int) -> Callable[[str], int]:
    """Converts to a whole number that is not below `minimum`."""

    def cast(raw: str) -> int:
        number = int(raw)
        if number < minimum:
            raise ValueError(f"{number} is below {minimum}")
        return number

    return cast


def integer(name: str, default: int, *, minimum: int = 0) -> int:
    return value(name, default, at_least(minimum))


def flag(name: str, *, default: bool) -> bool:
    def cast(raw: str) -> bool:
        if raw.lower() in {"1", "true", "yes", "on"}:
            return True
        if raw.lower() in {"0", "false", "no", "off"}:
            return False
        raise ValueError(f"{raw!r} is neither true nor false (use 1 or 0)")

    return value(name, default, cast)


def listed(name: str, cast: Callable[[str], T], default: str = "") -> list[T]:
    """The comma-separated entries, each converted by `cast`; empty ones are ignored."""

    def read(raw: str) -> list[T]:
        return [cast(entry.strip()) for entry in raw.split(",") if entry.strip()]

    return value(name, read(default), read)


def brand_id(raw: str) -> str:
    """The ID of a brand, or `*`. Not a slug, which can change and be reused by another brand."""
    if raw != "*" and not (raw.isascii() and raw.isdecimal()):
        raise ValueError(f"{raw!r} is not a brand id; the id is on the brand's page in the portal, and never changes")
    return raw


def network(raw: str) -> str:
    """A network such as 10.1.0.0/16 or fd00::/8."""
    return str(ip_network(raw))


def file(raw: str) -> Path:
    if not Path(raw).is_file():
        raise ValueError(f"there is no file {raw}")
    return Path(raw)


def name_server(raw: str) -> tuple[str, int]:
    """The address of a DNS server, optionally with a port: 10.0.0.2, 10.0.0.3:5353 or [fd00::1]:53."""
    bare = raw.count(":") > 1 and not raw.startswith("[")
    host, _, value = ("", "", "") if bare else raw.rpartition(":") if raw[-1] != "]" else (raw, "", "")
    port = int(value) if host and value else 53
    if not 0 < port < 65_536:
        raise ValueError(f"{raw!r} has no port")
    return str(ip_address((host or raw).strip("[]"))), port


def versioned_secrets(name: str) -> dict[int, str]:
    """`1:secret,2:secret` as secrets by version."""

    def read(raw: str) -> dict[int, str]:
        entries = [entry.strip().partition(":") for entry in raw.split(",") if entry.strip()]
        if not all(re.fullmatch("[0-9]{1,9}", version) and len(secret) >= 32 for version, _, secret in entries):
            raise ValueError(
                "write version:secret, comma-separated; a version is a number, a secret has at least 32 characters"
            )
        secrets = {int(version): secret for version, _, secret in entries}
        if any(secrets[int(version)] != secret for version, _, secret in entries):
            raise ValueError(
                "a version has two secrets: keep the last entry, which was the one used so far; "
                "a new secret needs the next version"
            )
        return secrets

    return value(name, {}, read)


def origin(raw: str) -> str:
    """The origin of a site, such as https://portal.example.com."""
    parts = urlsplit(raw)
    if parts.scheme not in {"https", "http"} or not parts.netloc or parts.path.strip("/") or parts.query:
        raise ValueError(f"{raw!r} is not an address like https://portal.example.com")
    return f"{parts.scheme}://{parts.netloc}"


def hostname(raw: str) -> str:
    """A hostname or IP address, without scheme and port, with which Django would compare no request."""
    if "/" in raw or (":" in raw and not raw.startswith("[")) or raw.rpartition("]")[2].startswith(":"):
        raise ValueError(f"{raw!r} is not a hostname; leave out https://, the port and any path")
    return raw


def redis_url(raw: str) -> str:
    if parsed(raw, urlsplit).scheme not in {"redis", "rediss", "unix"}:
        raise ValueError("it must begin with redis://, rediss:// or unix://")
    return raw


def log_level(raw: str) -> str:
    level = raw.upper()
    if level not in logging.getLevelNamesMapping():
        raise ValueError(f"{raw!r} is not a level such as INFO or WARNING")
    return level


def not_of_this_machine(hosts: list[str]) -> list[str]:
    """The hostnames that other machines could call."""

    def is_local(host: str) -> bool:
        name = host.strip("[]").lstrip(".").lower()
        return name == "localhost" or name.endswith(".localhost") or name == "::1" or name.startswith("127.")

    return [host for host in hosts if not is_local(host)]


def changed(name: str, defaults: dict[str, T], cast: Callable[[str], T]) -> dict[str, T]:
    """`defaults` with the values that the setting changes, as `first=value,second=value`."""

    def read(raw: str) -> dict[str, T]:
        result = dict(defaults)
        for entry in filter(None, map(str.strip, raw.split(","))):
            key, _, value = map(str.strip, entry.partition("="))
            if key not in defaults:
                raise ValueError(f"{key!r} is none of {', '.join(defaults)}")
            result[key] = cast(value)
        return result

    return value(name, defaults, read)


def rate(raw: str) -> str:
    """A rate as `100/minute`, in the notation of the limits package."""
    parse(raw)
    return raw


def saved_value(file: Path) -> str:
    """The content of the file in which `bin/run` saves a value; "" if there is none."""
    return file.read_text().strip() if file.is_file() else ""


def data_dir(name: str, *, project: Path) -> Path:
    """The setting; without it, on a try-out, the directory of the running `bin/run`, else `var` in the project."""
    usual = project / "var"
    value = text(name)
    if not value and not text("SECRET_KEY") and not (usual / "run" / ".s.PGSQL.5432").exists():
        running = saved_value(project / ".data_dir")
        value = running if running and (Path(running) / "secret_key").is_file() else ""
    return Path(value or usual).expanduser().resolve()


def choice(name: str, default: str, known: Collection[str]) -> str:
    """One of the `known` values."""

    def cast(raw: str) -> str:
        if raw not in known:
            raise ValueError(f"{raw!r} is none of {', '.join(sorted(known))}")
        return raw

    return value(name, default, cast)


def address(name: str) -> tuple[str, int] | None:
    """The address to listen at, as `host:port`."""

    def cast(raw: str) -> tuple[str, int]:
        host, _, port = raw.rpartition(":")
        if not host or not 0 < int(port) < 65_536:
            raise ValueError(f"{raw!r} is not a host:port")
        return host.strip("[]"), int(port)

    return value(name, None, cast)


def secret(name: str, *, otherwise: str = "", required: bool = True, advice: str = "") -> str:
    """A secret of at least 32 characters from the environment, otherwise the given one."""
    result = text(name) or otherwise
    if not result and not required:
        return ""
    if not result:
        message = f"{name} is missing: set {name} or {name}_FILE to at least 50 random characters{advice}"
        raise ImproperlyConfigured(message)
    if len(result) < 32:
        raise ImproperlyConfigured(f"{name} is too short: use at least 50 random characters")
    return result


def database(name: str, *, embedded: Path, options: dict[str, Any]) -> dict[str, Any]:
    """Django's database entry from a postgres:// address, otherwise the embedded server's socket in `embedded`."""
    entry: dict[str, Any] = {"ENGINE": "core.db.postgresql", "OPTIONS": options}

    def read(address: str) -> dict[str, Any]:
        parts = parsed(address, urlsplit)
        if parts.scheme not in {"postgres", "postgresql"}:
            raise ValueError("it must begin with postgres:// (PostgreSQL is the only engine)")
        fields = parsed(address, environ.Env.db_url_config)
        socket = parse_qs(parts.query).get("host", [""])[0]
        if socket:
            fields["HOST"] = socket
            fields.get("OPTIONS", {}).pop("host", None)
        return {**fields, **entry, "OPTIONS": {**options, **fields.get("OPTIONS", {})}}

    return value(name, {**entry, "NAME": "loyalty", "USER": "loyalty", "HOST": str(embedded)}, read)


def parsed(address: str, parse: Callable[[str], T]) -> T:
    """What `parse` reads in a URL with a login. Raises ValueError, which does not quote the password."""
    try:
        return parse(address)
    except ValueError:
        message = (
            "it is not a URL with a numeric port; write / ? # @ : [ ] in a password as %2F %3F %23 %40 %3A %5B %5D"
        )
        raise ValueError(message) from None


def needed(package: str, *, by: str) -> None:
    """Raises ImproperlyConfigured if `package`, which the setting `by` needs, is not installed."""
    try:
        result = find_spec(package)
    except ModuleNotFoundError:  # its parent package is not installed either
        result = None
    if result is None:
        raise ImproperlyConfigured(f"{by} needs the Python package {package}: pip install -r requirements-optional.txt")


def bucket(name: str, *, endpoint: str) -> dict[str, Any]:
    """Django's storage entry for an S3 bucket; boto3 finds region and keys itself."""
    needed("storages", by="S3_BUCKET")
    needed("boto3", by="S3_BUCKET")
    options = {
        "bucket_name": name,
        "endpoint_url": endpoint or None,
        # Other S3 implementations do not support bucket names in hostnames.
        "addressing_style": "path" if endpoint else "auto",
        "signature_version": "s3v4",
        "file_overwrite": False,
        "default_acl": None,
        "max_memory_size": 5_000_000,
    }
    return {"BACKEND": "storages.backends.s3.S3Storage", "OPTIONS": options}


MAIL_PORTS = {"smtp": 25, "smtp+tls": 587, "smtp+ssl": 465, "consolemail": 0, "dummymail": 0}


def mail(name: str, default: str) -> dict[str, Any]:
    """Django's EMAIL_ settings from smtp[+tls|+ssl]://user:password@host:port, or consolemail:// or dummymail://."""

    def read(address: str) -> dict[str, Any]:
        scheme = parsed(address, urlsplit).scheme
        if scheme not in MAIL_PORTS:
            raise ValueError(f"it must begin with one of {', '.join(f'{each}://' for each in MAIL_PORTS)}")
        result: dict[str, Any] = parsed(address, environ.Env.email_url_config)
        return {**result, "EMAIL_PORT": result["EMAIL_PORT"] or MAIL_PORTS[scheme]}

    return value(name, read(default), read)


def celery_broker(redis_url: str) -> str:
    """The Redis URL in Celery's notation: unix:// becomes redis+socket://, ?db= becomes ?virtual_host=."""
    parts = urlsplit(redis_url)
    if parts.scheme != "unix":
        return redis_url
    number = parse_qs(parts.query).get("db", ["0"])[0]
    return f"redis+socket://{parts.path}?virtual_host={number}"
