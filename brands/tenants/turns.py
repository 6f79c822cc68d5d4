"""Work over all brands in turns: a portion of each brand, then the next of each, for so long.

A portion commits by itself, so that a call may end after any of them and the next one goes on. The brands come in any
order: whoever comes last in one call does not in the next. So neither much work of a brand nor work of it that fails
keeps the others' waiting.
"""

import logging
from collections.abc import Callable, Iterator
from time import monotonic

from django.db.models import QuerySet

from brands.models.tenants import Brand
from core.db.outages import is_outage

logger = logging.getLogger(__name__)
# How long a call works: the worker that does it has few threads, and mails with links for logging in wait for one.
TURN_SECONDS = 60


def in_turns(
    brands: "QuerySet[Brand]",
    portions_of: Callable[[Brand], Iterator[int]],
    *,
    failure: str,
    seconds: float = TURN_SECONDS,
) -> int:
    """Do the portions of these brands' work, as far as the time reaches; returns the sum of what they say they did.

    `portions_of`: does a portion at each step, and is outside of transactions between two. `failure`: what the log says
    of a brand, `%s`, at which it fails; it is left out until the next call.
    """
    ends_at, done = monotonic() + seconds, 0
    waiting = [(brand, portions_of(brand)) for brand in brands.order_by("?")]
    while waiting:
        for turn in list(waiting):
            brand, portions = turn
            try:
                done += next(portions)
            except StopIteration:
                waiting.remove(turn)
            except Exception as error:
                if is_outage(error):
                    raise
                logger.exception(failure, brand.slug)
                waiting.remove(turn)
            if monotonic() > ends_at:
                return done
    return done


def once_each(
    brands: "QuerySet[Brand]", work: Callable[[Brand], int], *, failure: str, seconds: float = TURN_SECONDS
) -> int:
    """The same for work that has a bound of its own at each brand: all of it in the brand's only turn of a call."""

    def portions_of(brand: Brand) -> Iterator[int]:
        yield work(brand)

    return in_turns(brands, portions_of, failure=failure, seconds=seconds)
