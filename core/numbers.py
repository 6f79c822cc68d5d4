"""Numbers formatted in the reader's language (25,800 or 25.800), and ids that are typed or sent."""

from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache

from django.utils.formats import number_format
from django.utils.translation import get_language, get_language_bidi

MAX_INTEGER = 2**31 - 1  # the maximum of an IntegerField
# Enough for all digits of the largest float.
EXACT = Context(prec=400)
MAX_ID_DIGITS = 18  # all such numbers fit an id column


def is_id(text: str) -> bool:
    """Whether the text can be a row's id; PostgreSQL raises an error for any other."""
    return text.isascii() and text.isdecimal() and len(text) <= MAX_ID_DIGITS


def grouped(number: Decimal | float) -> str:
    """With grouped thousands and all its decimals. Texts that are stored use `f"{number:,}"`."""
    return number_format(number, force_grouping=True)


def rounded(number: Decimal | float, places: int) -> str:
    """With this many decimals."""
    return _rounded(str(number), places, get_language())


@lru_cache(maxsize=10_000)
def _rounded(number: str, places: int, _language: str | None) -> str:
    """Cached, as a page formats hundreds of numbers, small ones many times. Takes text, because 0.0 equals -0.0."""
    return number_format(half_up(Decimal(number), places), decimal_pos=places, force_grouping=True)


def format_number(number: Decimal | float) -> str:
    """Without decimals if it is whole, else with two: 10, 12.50, 25,800."""
    return rounded(number, 0 if number == int(number) else 2)


def plural_number(number: Decimal | float) -> int:
    """The number by which ngettext chooses a form. A fraction uses that of 100, the general plural."""
    whole = int(number)
    return abs(whole) if number == whole else 100


def half_up(number: Decimal | float, places: int) -> Decimal:
    """Round half up. Django's number_format truncates a Decimal instead of rounding it."""
    return Decimal(str(number)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, EXACT)


def signed(number: Decimal | float, places: int = 0) -> str:
    """With a sign, also for a plus. The sign precedes the number in every language."""
    mark = "\u200e" if get_language_bidi() else ""
    return f"{mark}{'-' if number < 0 else '+'}{rounded(-number if number < 0 else number, places)}"
