"""Numbers as people read them, in their language: 25,800 or 25.800, and as ids that are typed or sent."""

from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

from django.utils.formats import number_format
from django.utils.translation import get_language, get_language_bidi

MAX_INTEGER = 2**31 - 1  # that an IntegerField stores
# For all digits of the largest float.
EXACT = Context(prec=400)
MAX_ID_DIGITS = 18  # all such numbers fit a column of ids


def is_id(text: str) -> bool:
    """Whether a row may have this number; what is none of them makes PostgreSQL fail."""
    return text.isascii() and text.isdecimal() and len(text) <= MAX_ID_DIGITS


def grouped(number: Decimal | float) -> str:
    """With its thousands separated and as many decimals as it has. Texts that are stored say `f"{number:,}"`."""
    return number_format(number, force_grouping=True)


def rounded(number: Decimal | float, places: int) -> str:
    """With so many decimals."""
    return _rounded(str(number), places, get_language())


@lru_cache(maxsize=10_000)
def _rounded(number: str, places: int, _language: str | None) -> str:
    """Saved, as a page says hundreds of numbers, the small ones many times. As a text: 0.0 equals -0.0."""
    return number_format(half_up(Decimal(number), places), decimal_pos=places, force_grouping=True)


def format_number(number: Decimal | float) -> str:
    """Without decimals where it is whole, else with two: 10, 12.50, 25,800."""
    return rounded(number, 0 if number == int(number) else 2)


def plural_number(number: Decimal | float) -> int:
    """By which ngettext picks a form. Fractions take that of hundreds, which is a plural without a word for few."""
    whole = int(number)
    return abs(whole) if number == whole else 100


def half_up(number: Decimal | float, places: int) -> Decimal:
    """Django's number_format cuts off the decimals of a Decimal that it does not show."""
    return Decimal(str(number)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, EXACT)


def signed(number: Decimal | float, places: int = 0) -> str:
    """With the sign of a change, also where it is a plus. The sign stays before the number in every language."""
    mark = "\u200e" if get_language_bidi() else ""
    return f"{mark}{'-' if number < 0 else '+'}{rounded(-number if number < 0 else number, places)}"
