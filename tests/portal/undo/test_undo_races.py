"""The Undo button pressed by many at once: one of them undoes, once."""

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
from tests.support.concurrency import at_once
from tests.support.portal import staff

ACTED: list[int] = []
COUNTED = UndoKind("authcodes.authcode", "x", lambda _request, _offer: ACTED.append(1))


@contextmanager
def without_the_lock() -> Any:
    with mock.patch.object(QuerySet, "select_for_update", lambda rows, **_options: rows.all()):
        yield


@pytest.mark.django_db(transaction=True)
class TestRaces:
    """An act that would do its work again each time it is called, pressed by many at once."""

    PRESSED = 6

    def acts(self, brand: Brand, rf: Any) -> int:
        person = staff(brand)
        ACTED.clear()
        made = UndoOffer.objects.create(
            brand=brand, user=person, kind="counted", expires_at=timezone.now() + timedelta(minutes=1)
        )

        def press(_number: int) -> None:
            request = rf.post("/")
            request.user = type(person).objects.get(pk=person.pk)
            offers.take(request, made.pk)

        with mock.patch.dict(settings.UNDO_KINDS, {"counted": f"{__name__}.COUNTED"}):
            at_once(press, range(self.PRESSED), threads=self.PRESSED)
        return len(ACTED)

    def test_one_of_many_at_once_undoes_it(self, brand: Brand, rf: Any) -> None:
        assert [self.acts(brand, rf) for _round in range(5)] == [1] * 5

    def test_control_without_the_lock_several_do(self, brand: Brand, rf: Any) -> None:
        with without_the_lock():
            assert max(self.acts(brand, rf) for _round in range(10)) > 1
