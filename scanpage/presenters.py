"""What the page reads out of the API's answers: which state a scan is in, and moments by the brand's clock."""

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
# Signs that people take for each other, in the order in which a page warns of them.
ALIKE = ("0O", "1Il", "2Z", "5S", "8B", "UV")


def state_of(answer: Answer, *, is_customer: bool = False) -> str:
    """The name of the page's state for the answer to a scan; scan.js has the same rule."""
    if answer.error in {"AUTH_CODE_INVALID", "VALIDATION_ERROR"}:  # the latter for what no code can look like
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
    """The name of the page's words on the points of a scan; page.js has the same rule."""
    status: str = scan.get("points_status", "")
    if scan.get("waits_for") == "confirmed_email":
        return "unconfirmed"
    if (status, scan.get("status")) == ("not_eligible", "warning"):
        return ""  # the state says why
    return "unsold" if (status, scan.get("reason")) == ("not_eligible", "product_inactive") else status


def read(value: Any, zone: ZoneInfo) -> Any:
    """The same data with moments instead of their text, on the brand's clock."""
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


def typed(text: str) -> str:
    """The code in what somebody typed or pasted: without blanks, in plain signs, taken out of a whole address."""
    address = ADDRESS.fullmatch(text.strip())
    plain = address[1] if address else text
    plain = DASHES.sub("-", unicodedata.normalize("NFKC", plain[:MAX_TYPED_LENGTH]))
    digits = {sign: str(unicodedata.digit(sign)) for sign in set(plain) if unicodedata.category(sign) == "Nd"}
    return NO_SIGN.sub("", "".join(digits.get(sign, sign) for sign in plain))


def parts(code: str) -> list[str]:
    """A code in groups of four, as eyes compare it."""
    return [code[at : at + 4] for at in range(0, len(code), 4)]


def alike(code: str) -> list[str]:
    """The signs of a code that are easily taken for another, each group of them once."""
    return [signs for signs in ALIKE if any(sign in code for sign in signs)]
