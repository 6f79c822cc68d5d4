"""Finds a brand's customers by part of an address or a name. All searches use it."""

from collections.abc import Collection

from django.db import connection
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from brands.models.customer_word import CustomerWord
from brands.models.people import User
from core.errors import Invalid
from core.forms import typed_text

MAX_TERMS = 8
# The most customers whose rows a list looks up one by one.
MAX_MATCHES = 1000
LAST = chr(0x10FFFF)


class TooManyCustomers(Invalid):
    """The text matches more customers than a list can be filtered by."""


def find(typed: str, brand_ids: Collection[int]) -> list[int]:
    """The ids of the brands' customers: each word of `typed` must begin a word of their address or name.

    A whole address matches only its owner. Upper and lower case are equal, and so are letters with and without
    diacritics. At most two statements. Raises Invalid for text that cannot be a name, TooManyCustomers.
    """
    typed = checked(typed)
    if "@" in typed and (owner := owner_of(typed, brand_ids)):
        return [owner]
    ids = _first(matching(typed, brand_ids), MAX_MATCHES)
    if len(ids) > MAX_MATCHES:
        message = _("More than %(most)d customers match “%(typed)s”. Type more of the name or the address.")
        raise TooManyCustomers(message % {"most": MAX_MATCHES, "typed": typed})
    return ids


def find_all(typed: str, brand_ids: Collection[int]) -> Collection[int] | QuerySet[CustomerWord, int]:
    """As `find`, without the limit, for the lists of customers themselves: a subquery if they are many."""
    try:
        return find(typed, brand_ids)
    except TooManyCustomers:
        return matching(typed, brand_ids)


def some(typed: str, brand_ids: Collection[int], most: int) -> list[int]:
    """As `matching`, but only the first `most` ids."""
    return _first(matching(checked(typed), brand_ids), most)[:most]


def matching(typed: str, brand_ids: Collection[int]) -> QuerySet[CustomerWord, int]:
    """All matching ids as a subquery for another statement; an id may occur several times. One statement."""
    result: QuerySet[CustomerWord, int] | None = None
    for word in terms_of(typed):
        begin_so = CustomerWord.objects.filter(brand__in=brand_ids, word__gte=word, word__lt=word + LAST)
        narrowed = begin_so if result is None else begin_so.filter(user__in=result)
        result = narrowed.values_list("user_id", flat=True)
    return CustomerWord.objects.none().values_list("user_id", flat=True) if result is None else result


def terms_of(typed: str) -> list[str]:
    """The words in the form that the triggers store; the longest, which are most selective, last. Raises Invalid."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT word FROM customer_words(%s) AS word", [checked(typed)])
        terms = sorted((word for [word] in cursor.fetchall()), key=len)
    return terms[-MAX_TERMS:]


def owner_of(address: str, brand_ids: Collection[int]) -> int | None:
    """The id of the brands' customer with this whole address."""
    known = User.objects.filter(email=address.lower(), search_words__brand__in=brand_ids)
    return known.order_by().values_list("pk", flat=True).first()


def checked(typed: str) -> str:
    """`typed` without surrounding space. Raises Invalid."""
    return typed_text.checked(
        typed,
        too_long=_("Type at most %(most)d characters of a name or address."),
        unprintable=_("Type the name or address without control characters."),
    )


def _first(matches: QuerySet[CustomerWord, int], most: int) -> list[int]:
    """Up to `most` + 1 ids. A customer may match by several words, so more rows are read."""
    return list(dict.fromkeys(matches[: (MAX_TERMS + 1) * most]))[: most + 1]
