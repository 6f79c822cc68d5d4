"""How moments and numbers are written in JSON."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder


def json_safe(payload: dict[str, Any]) -> dict[str, Any]:
    """The payload as it will be read back: with decimals and moments in their JSON form."""
    data: dict[str, Any] = json.loads(json.dumps(payload, cls=DjangoJSONEncoder))
    return data


ENCODER = DjangoJSONEncoder()


def iso(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds, as events write time."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def json_number(number: Decimal | None) -> int | float | None:
    """A JSON number, without a fraction if it is whole."""
    if number is None:
        return None
    return int(number) if number == number.to_integral_value() else float(number)
