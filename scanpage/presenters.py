"""What the page derives from the API's responses: the state of a scan, and times in the brand's time zone."""

import re
import unicodedata
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.utils.dateparse import parse_datetime
from django.utils.formats import number_format

from scanpage.api_client import Answer

MOMENTS = {"first_scan_date", "createdAt", "expires_at", "timestamp", "undo_until", "requested_at", "valid_from"}
MAX_TYPED_LENGTH = 500
NO_SIGN = re.compile(r"[\s\u200b-\u200f\u2010-\u2015\u202a-\u202e\u2060-\u2069\ufeff]")
DASHES = re.compile(r"[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]")
ADDRESS = re.compile(r"https?://[^/]+/(?:s|01/[0-9]{8,14}/21)/([^/?#]{1,200})/?(?:[?#].*)?", re.IGNORECASE)
# Characters that are easily confused, in the order in which a page warns of them.
ALIKE = ("0O", "1Il", "2Z", "5S", "8B", "UV")


def state_of(answer: Answer, *, is_customer: bool = False) -> str:
    """The page's state for the response to a scan; scan.js has the same rule."""
    if answer.error in {"AUTH_CODE_INVALID", "VALIDATION_ERROR"}:  # the latter for text that cannot be a code
        return "unknown"
    if answer.error == "RATE_LIMITED":
        return "waiting"
    if answer.error == "SCAN_LIMIT_REACHED":
        return "used"
    if not answer.is_good:
        return "trouble"
    body = answer.body
    if body.get("is_test"):
        return "test"
    if body["reason"] == "recalled":
        return "recalled"
    if body["points_status"] == "already_claimed":
        return "mine"
    if body["reason"] == "reserved":
        return "reserved_for_other" if is_customer else "reserved"
    if body["status"] == "warning":
        return "used"
    return "new" if body["first_scan"] else "seen"


def points_of(scan: dict[str, Any]) -> str:
    """The key of the page's text about the points of a scan; page.js has the same rule."""
    status: str = scan.get("points_status", "")
    if scan.get("waits_for") == "confirmed_email":
        return "unconfirmed"
    if (status, scan.get("status")) == ("not_eligible", "warning"):
        return ""  # the state has the reason
    return "unsold" if (status, scan.get("reason")) == ("not_eligible", "product_inactive") else status


def read(value: Any, zone: ZoneInfo) -> Any:
    """The same data with datetimes, in the brand's time zone, instead of their text."""
    if isinstance(value, list):
        return [read(each, zone) for each in value]
    if isinstance(value, dict):
        return {name: moment(each, zone) if name in MOMENTS else read(each, zone) for name, each in value.items()}
    return value


def moment(text: Any, zone: ZoneInfo) -> datetime | None:
    result = parse_datetime(text) if isinstance(text, str) else None
    return result.astimezone(zone) if result else None


def format_number(number: float) -> str:
    """In the page's language, with grouped thousands: 12,500 or 12.500,5; fill.js has the same rule."""
    return number_format(number, force_grouping=True)


def code_in_text(text: str) -> str:
    """The code in a typed or pasted text: without blanks, in plain characters, extracted from a whole address."""
    address = ADDRESS.fullmatch(text.strip())
    plain = address[1] if address else text
    plain = DASHES.sub("-", unicodedata.normalize("NFKC", plain[:MAX_TYPED_LENGTH]))
    digits = {sign: str(unicodedata.digit(sign)) for sign in set(plain) if unicodedata.category(sign) == "Nd"}
    return NO_SIGN.sub("", "".join(digits.get(sign, sign) for sign in plain))


def in_groups(code: str) -> list[str]:
    """A code in groups of four, which are easier to compare."""
    return [code[at : at + 4] for at in range(0, len(code), 4)]


def confusable_groups(code: str) -> list[str]:
    """The groups of easily confused characters that the code contains."""
    return [signs for signs in ALIKE if any(sign in code for sign in signs)]
