"""Concurrent uses of one Undo button: only one of them takes effect."""

from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from brands.models.tenants import Brand
from brands.models.undo_offers import UndoOffer
from portal.undo import offers
from portal.undo.offers import UndoKind
from tests.support.concurrency import run_concurrently
from tests.support.portal import staff

UNDO_CALLS: list[int] = []
COUNTED = UndoKind("authcodes.authcode", "x", lambda _request, _offer: UNDO_CALLS.append(1))


@contextmanager
def without_the_lock() -> Any:
    with mock.patch.object(QuerySet, "select_for_update", lambda rows, **_options: rows.all()):
        yield


@pytest.mark.django_db(transaction=True)
class TestRaces:
    """Concurrent uses of an offer whose undo function counts its calls."""

    CONCURRENT_USES = 6

    def undo_calls_after_concurrent_uses(self, brand: Brand, rf: Any) -> int:
        user = staff(brand)
        UNDO_CALLS.clear()
        offer = UndoOffer.objects.create(
            brand=brand, user=user, kind="counted", expires_at=timezone.now() + timedelta(minutes=1)
        )

        def use_offer(_number: int) -> None:
            request = rf.post("/")
            request.user = type(user).objects.get(pk=user.pk)
            offers.take(request, offer.pk)

        with mock.patch.dict(settings.UNDO_KINDS, {"counted": f"{__name__}.COUNTED"}):
            run_concurrently(use_offer, range(self.CONCURRENT_USES), threads=self.CONCURRENT_USES)
        return len(UNDO_CALLS)

    def test_only_one_of_several_concurrent_uses_takes_effect(self, brand: Brand, rf: Any) -> None:
        assert [self.undo_calls_after_concurrent_uses(brand, rf) for _round in range(5)] == [1] * 5

    def test_control_several_uses_take_effect_without_the_lock(self, brand: Brand, rf: Any) -> None:
        with without_the_lock():
            assert max(self.undo_calls_after_concurrent_uses(brand, rf) for _round in range(10)) > 1
