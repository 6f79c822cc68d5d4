"""Numbers as people read them, in their language: 25,800 or 25.800."""

from decimal import ROUND_HALF_UP, Context, Decimal

from django.utils.formats import number_format
from django.utils.translation import get_language_bidi

# For all digits of the largest float.
EXACT = Context(prec=400)


def grouped(number: Decimal | float) -> str:
    """With its thousands separated and as many decimals as it has. Texts that are stored say `f"{number:,}"`."""
    return number_format(number, force_grouping=True)


def rounded(number: Decimal | float, places: int) -> str:
    """With so many decimals."""
    return number_format(half_up(number, places), decimal_pos=places, force_grouping=True)


def format_number(number: Decimal | float) -> str:
    """Without decimals where it is whole, else with two: 10, 12.50, 25,800."""
    return rounded(number, 0 if number == int(number) else 2)


def half_up(number: Decimal | float, places: int) -> Decimal:
    """Django's number_format cuts off the decimals of a Decimal that it does not show."""
    return Decimal(str(number)).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP, EXACT)


def signed(number: Decimal | float, places: int = 0) -> str:
    """With the sign of a change, also where it is a plus. The sign stays before the number in every language."""
    mark = "\u200e" if get_language_bidi() else ""
    return f"{mark}{'-' if number < 0 else '+'}{rounded(-number if number < 0 else number, places)}"
