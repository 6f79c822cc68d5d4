"""Work over all brands in turns: one portion of each brand, then the next of each, for a limited time.

Each portion commits by itself, so a call may end after any of them and the next call goes on. The brands come in
random order, so that a brand is not last every time. So a brand with much work, or with work that fails, does not
keep the others waiting.
"""

import logging
from collections.abc import Callable, Iterator
from time import monotonic

from django.db.models import QuerySet

from brands.models.tenants import Brand
from core.db.outages import is_outage

logger = logging.getLogger(__name__)
# How long a call works: its worker has few threads, and mails with login links wait for one.
TURN_SECONDS = 60


def in_turns(
    brands: "QuerySet[Brand]",
    portions_of: Callable[[Brand], Iterator[int]],
    *,
    failure: str,
    seconds: float = TURN_SECONDS,
) -> int:
    """Do the brands' portions within `seconds`. Returns the sum of what they yield.

    `portions_of`: does one portion at each step, and is outside a transaction between two. `failure`: the log
    message for a brand, `%s`, whose work fails; the brand is skipped until the next call.
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
    """The same for work that is limited by itself at each brand: all of a brand's work in its only turn of a call."""

    def portions_of(brand: Brand) -> Iterator[int]:
        yield work(brand)

    return in_turns(brands, portions_of, failure=failure, seconds=seconds)
