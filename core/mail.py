"""Checks for outgoing e-mails: an address that mail can be sent to, and a subject of one line."""

from email.errors import MessageError

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.mail.message import sanitize_address
from django.core.validators import validate_email
from django.utils.translation import gettext as _

# Raised for an address or header that cannot be written into an e-mail. No mail server was contacted.
UNWRITABLE = (ValueError, IndexError, MessageError)
ENCODED_WORD = "=?"  # RFC 2047: mail programs decode it, so the mail would go to another address


def validate_address(address: str) -> None:
    """Validator for fields with an address that mail is sent to. The fields themselves reject malformed addresses."""
    try:
        validate_email(address)
    except ValidationError:
        return
    if not may_be_written_to(address):
        raise ValidationError(_("No e-mail can be sent to this address. Check its spelling."), code="unwritable")


def may_be_written_to(address: str) -> bool:
    """Whether the mail backend accepts the address: not every well-formed address can be sent to."""
    try:
        sanitize_address(address, settings.DEFAULT_CHARSET)
    except UNWRITABLE:
        return False
    return ENCODED_WORD not in address


def one_line(text: str) -> str:
    """The text for a header or title on one line: a line break would begin another header."""
    return " ".join("".join(letter if letter.isprintable() else " " for letter in text).split())
