"""Routes long reads to a streaming replica that has replayed everything committed until now, else to the primary."""

import logging
import time

from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, Error, connections

REPLICA = "replica"
CHECK_SECONDS = 0.02
PAUSE_SECONDS = 10  # after a failure the replica is not tried for this long: each attempt may cost a whole timeout

# A server that is not a standby (promoted, or configured by mistake) must not be read from.
REPLAYED = "SELECT pg_is_in_recovery() AND pg_last_wal_replay_lsn() >= %s::pg_lsn"

logger = logging.getLogger(__name__)


class Cooldown:
    """Whether this process leaves the replica alone after a failure. It ends by itself."""

    def __init__(self) -> None:
        self._until = float("-inf")

    @property
    def is_on(self) -> bool:
        return time.monotonic() < self._until

    def begin(self, why: object) -> None:
        self._until = time.monotonic() + PAUSE_SECONDS
        logger.warning("The replica is not read for %d s: %s", PAUSE_SECONDS, why)

    def end(self) -> None:
        self._until = float("-inf")


cooldown = Cooldown()


def alias(*, patience_seconds: float) -> str:
    """The database for a read of everything that was committed before this call.

    Waits up to `patience_seconds` for the replica. Inside a transaction it is the primary: only that sees
    uncommitted rows.
    """
    if REPLICA not in settings.DATABASES or cooldown.is_on or connections[DEFAULT_DB_ALIAS].in_atomic_block:
        return DEFAULT_DB_ALIAS
    try:
        return REPLICA if _caught_up(patience_seconds) else DEFAULT_DB_ALIAS
    except Error as error:
        connections[REPLICA].close()
        cooldown.begin(error)
        return DEFAULT_DB_ALIAS


def _caught_up(patience_seconds: float) -> bool:
    with connections[DEFAULT_DB_ALIAS].cursor() as primary:
        primary.execute("SELECT pg_current_wal_lsn()")
        [written] = primary.fetchone()
    end = time.monotonic() + patience_seconds
    with connections[REPLICA].cursor() as replica:
        while True:
            replica.execute(REPLAYED, [written])
            if replica.fetchone()[0]:
                return True
            if time.monotonic() >= end:
                cooldown.begin("it lags behind, or is no standby")
                return False
            time.sleep(CHECK_SECONDS)
