"""Helpers for several fields of a brand, and the validation of its time zone."""

from typing import Any
from zoneinfo import available_timezones

from django.core.exceptions import ValidationError
from django.core.validators import RegexValidator, URLValidator
from django.db import connection, models
from django.utils.translation import gettext_lazy as _

# Names in the system's files that Python accepts, but that mean another zone on another host, or none.
NO_PLACES = {"localtime", "posixrules", "Factory"}
KNOWN_ZONE = "SELECT EXISTS (SELECT 1 FROM pg_timezone_names WHERE name = %s)"


def time_zone_names() -> list[str]:
    return sorted(available_timezones() - NO_PLACES)


def validate_time_zone(name: str) -> None:
    """Python and PostgreSQL have separate lists, and both must know the zone to compute a brand's days."""
    known = name in time_zone_names()
    if known:
        with connection.cursor() as cursor:
            cursor.execute(KNOWN_ZONE, [name])
            known = cursor.fetchone()[0]
    if not known:
        raise ValidationError(
            _("%(name)s is not a valid time zone. Use a name such as Europe/Berlin."), params={"name": name}
        )


def colour_field(name: Any, default: str, text: Any) -> "models.CharField[str, str]":
    """A colour as `#rrggbb`; any other text must not get into a style sheet or a wallet pass."""
    known = RegexValidator(r"^#[0-9a-f]{6}\Z", _("Enter a colour such as #1a2b3c."))
    return models.CharField(name, max_length=7, default=default, validators=[known], help_text=text)


def link_field(name: Any, help_text: Any) -> Any:
    """The https address of one of the brand's own pages. May be empty."""
    return models.CharField(
        name,
        max_length=500,
        blank=True,
        db_default="",
        validators=[URLValidator(schemes=["https"], message=_("Enter an address that begins with https://."))],
        help_text=help_text,
    )
