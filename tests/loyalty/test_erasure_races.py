"""What others do while a person is being erased, on parallel connections."""

import time
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from django.db import connection, transaction
from django.utils import timezone

from brands.audit import Deed
from brands.models import User
from brands.refusals import TokenInvalid
from loyalty import erasure, members, profile
from loyalty.models import Device, NoticePreference, Platform, WalletDevice
from loyalty.notices import devices
from loyalty.wallets import devices as wallet_devices
from loyalty.wallets import passes
from tests import make

pytestmark = pytest.mark.django_db(transaction=True)

WAITING_FOR_ME = "SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))"


def erase(person, brand):
    return erasure.erase(user_id=person.pk, brand_id=brand.pk, deed=Deed(None, timezone.now()))


def in_the_middle_of(first, then):
    """What comes of `then`, on a connection of its own, that begins when `first` is done and not committed yet."""

    def own_connection():
        try:
            return then()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            first()
            later = pool.submit(own_connection)
            until_somebody_waits(later)
        return later.exception(timeout=10) or later.result()


def until_somebody_waits(later: Future) -> None:
    """For the transaction that asks; or until it is clear that nobody will."""
    end = time.monotonic() + 10
    with connection.cursor() as cursor:
        while not later.done() and time.monotonic() < end:
            cursor.execute(WAITING_FOR_ME)
            if cursor.fetchone():
                return
            time.sleep(0.005)


def rename(person, brand):
    fields = {"first_name": "Wilhelmina", "phone": "+41791234567"}
    return profile.change(user_id=person.pk, brand_id=brand.pk, fields=fields, switches=None, at=timezone.now())


def add_device(person, brand):
    return devices.register(
        user_id=person.pk, brand_id=brand.pk, token="a phone", platform="android", at=timezone.now()
    )


@pytest.mark.parametrize("write", [rename, add_device])
def test_who_was_erased_meanwhile_is_not_written_back(brand, customer, write):
    outcome = in_the_middle_of(lambda: erase(customer, brand), lambda: write(customer, brand))

    assert isinstance(outcome, TokenInvalid)
    assert User.objects.get(pk=customer.pk).first_name == ""
    assert not NoticePreference.objects.exists() and not Device.objects.exists()


def test_control_without_a_look_under_the_lock_the_name_is_back(brand, customer, monkeypatch):
    any_person = User.objects.select_for_update(no_key=True)
    monkeypatch.setattr(members, "lock_person", lambda *, user_id: any_person.get(pk=user_id))

    in_the_middle_of(lambda: erase(customer, brand), lambda: rename(customer, brand))

    assert User.objects.get(pk=customer.pk).first_name == "Wilhelmina"


def test_a_phone_that_takes_up_an_erased_persons_pass_is_turned_away(brand, customer):
    held, _new = passes.issue(account=make.account(customer, brand), platform=Platform.APPLE, at=timezone.now())

    def take_up():
        return wallet_devices.register(wallet_pass=held, device="phone", push_token="abcdef01", at=timezone.now())

    outcome = in_the_middle_of(lambda: erase(customer, brand), take_up)

    assert isinstance(outcome, TokenInvalid)
    assert not WalletDevice.objects.exists()
