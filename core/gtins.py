"""GTINs, the trade item numbers of products (GS1 General Specifications)."""

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

GTIN_LENGTH = 14


def is_gtin(text: str) -> bool:
    """Whether the last digit is the check digit of the others (GS1 General Specifications 7.9)."""
    return text[-1:] == check_digit(text[:-1])


def check_digit(number: str) -> str:
    """The check digit for these digits."""
    digits = [int(digit) for digit in number.zfill(GTIN_LENGTH - 1)]
    total = sum(digit * (3 if place % 2 == 0 else 1) for place, digit in enumerate(digits))
    return str(-total % 10)


def validate_check_digit(value: str) -> None:
    """Raises ValidationError for a GTIN whose check digit is wrong; other validators check its length."""
    if value.isascii() and value.isdigit() and not is_gtin(value):
        message = _("The check digit of this GTIN is wrong: after %(number)s it must be %(digit)s.")
        raise ValidationError(message % {"number": value[:-1], "digit": check_digit(value[:-1])})
