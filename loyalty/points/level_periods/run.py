"""The job of level periods: applies a changed setting to a brand's accounts, and settles accounts that are due.

A turn is bounded, and brands take turns by the chunk, so one with a million members does not block others. Each chunk
is a transaction, so the job can be stopped at any point, and several workers share it.
"""

import logging
from collections.abc import Callable
from datetime import datetime
from functools import partial
from time import monotonic

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.db.models import Exists, OuterRef, Q

from brands.models.tenants import Brand
from loyalty.models.accounts import UserPoints
from loyalty.models.levels import LevelPeriodState
from loyalty.points.level_periods.rules import LIFETIME, setting_of
from loyalty.points.level_periods.settle import settle

MERGED = UserPoints.Status.MERGED  # merged accounts follow no period
logger = logging.getLogger(__name__)

TURN_SECONDS = 40  # per call; Celery beat makes one call a minute


def catch_up(*, at: datetime, seconds: float = TURN_SECONDS) -> int:
    """Settle what is due, a chunk of each brand in turn, for at most `seconds`. Returns how many accounts.

    A failing brand is logged and tried again in the next call. Brands with an inactive programme are not settled,
    because their members cannot earn what a level needs.
    """
    ends_at = monotonic() + seconds
    steps: list[Callable[[], int]] = []
    for brand in brands():
        note_setting(brand, at=at)
        steps += [partial(follow_chunk, brand, at=at), partial(due_chunk, brand, at=at)]
    settled = 0
    while steps:
        for step in list(steps):
            done = attempt(step)
            settled += done
            if not done:
                steps.remove(step)
            if monotonic() > ends_at:
                return settled
    return settled


def brands() -> list[Brand]:
    """Brands that have level periods, or had some."""
    known = Exists(LevelPeriodState.objects.filter(brand=OuterRef("pk")))
    rows = Brand.objects.filter(Q(known) | ~Q(level_period=LIFETIME), loyalty_active=True)
    return list(rows.order_by("?"))  # random, so that the last brand of one turn is not always last


def attempt(step: Callable[[], int]) -> int:
    try:
        return step()
    except Exception as error:
        if isinstance(error, OperationalError | InterfaceError) and not connection.is_usable():
            raise
        logger.exception("the level periods of a brand failed")
        return 0


def note_setting(brand: Brand, *, at: datetime) -> None:
    """Restart with the brand's accounts if its setting has changed."""
    setting = setting_of(brand)
    with transaction.atomic():
        state = LevelPeriodState.objects.select_for_update(no_key=True).filter(brand=brand).first()
        if state is None:
            defaults = {"setting": setting, "extends": True, "reached": 0, "changed_at": at}
            LevelPeriodState.objects.get_or_create(brand=brand, defaults=defaults)
        elif state.setting != setting:
            is_unfinished = state.reached is not None and state.extends
            is_other = period_of(state.setting) != period_of(setting)
            state.setting, state.extends, state.reached, state.changed_at = setting, is_unfinished or is_other, 0, at
            state.save()


def period_of(setting: str) -> list[str]:
    """The part of a setting that determines how long levels last, without grace days, warning days and time zone."""
    return setting.split(":")[:2]


def follow_chunk(brand: Brand, *, at: datetime) -> int:
    """Settle the next accounts that do not follow the brand's setting yet. Returns 0 if there are no more."""
    with transaction.atomic():
        states = LevelPeriodState.objects.select_for_update(no_key=True, skip_locked=True)
        state = states.filter(brand=brand, setting=setting_of(brand)).exclude(reached=None).first()
        if state is None:
            return 0
        rows = UserPoints.objects.filter(brand=brand, pk__gt=state.reached).exclude(status=MERGED).order_by("pk")
        accounts = list(rows.values_list("pk", flat=True)[: settings.LEVELS_CHUNK])
        if accounts:
            settle(brand=brand, accounts=accounts, at=at)
        state.reached = accounts[-1] if accounts else None
        state.save(update_fields=["reached"])
        return len(accounts)


def due_chunk(brand: Brand, *, at: datetime) -> int:
    """Settle the next accounts that are due. Returns 0 if there are no more, or other workers have them."""
    with transaction.atomic():
        rows = UserPoints.objects.filter(brand=brand, level_due_at__lte=at).exclude(status=MERGED)
        rows = rows.order_by("level_due_at", "pk")
        locked = rows.select_for_update(no_key=True, skip_locked=True, of=("self",))
        accounts = list(locked.values_list("pk", flat=True)[: settings.LEVELS_CHUNK])
        if accounts:
            settle(brand=brand, accounts=accounts, at=at)
        return len(accounts)
