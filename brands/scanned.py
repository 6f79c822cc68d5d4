"""Parses a scan: a bare code, `code.tag`, or a whole scanned address."""

from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

MAX_CODE_LENGTH = 64
TAG_SEPARATOR = "."
MAX_INPUT_LENGTH = 500


@dataclass(frozen=True, slots=True)
class ParsedCode:
    """A code and, if it is signed, its tag."""

    code: str
    tag: str


def read(scanned: str) -> ParsedCode | None:
    """The code in the scanned text; None if there cannot be one.

    Addresses are `https://<host>/s/<code>` and GS1 Digital Link `https://<host>/01/<gtin>/21/<serial>`.
    """
    text = scanned.strip()
    if not text or len(text) > MAX_INPUT_LENGTH or not text.isprintable():
        return None
    if "://" in text:
        text = _in_address(text)
    code, _, tag = text.partition(TAG_SEPARATOR)
    return ParsedCode(code, tag) if 0 < len(code) <= MAX_CODE_LENGTH and len(tag) <= MAX_CODE_LENGTH else None


def _in_address(address: str) -> str:
    try:
        parts = [unquote(part) for part in urlsplit(address).path.strip("/").split("/")]
    except ValueError:
        return ""
    if len(parts) == 2 and parts[0] == "s":
        return parts[1]
    if len(parts) == 4 and (parts[0], parts[2]) == ("01", "21"):
        return parts[3]
    return ""
