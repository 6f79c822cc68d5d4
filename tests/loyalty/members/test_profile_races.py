"""A customer's own name and what a brand's staff correct, at once, on parallel connections."""

import pytest
from django.db import OperationalError, transaction
from django.utils import timezone

from brands.audit_log import AuditContext
from brands.identity import users
from loyalty.members import corrections, profile
from loyalty.points import accounts
from tests.support import factories
from tests.support.concurrency import at_once, while_uncommitted

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def other_brand(customer):
    brand = factories.brand()
    accounts.enrol(user_id=customer.pk, brand_id=brand.pk, at=timezone.now())
    return brand


@pytest.fixture
def corrected(customer, brand):
    """The account at the brand that corrects the customer's name."""
    account = factories.account(customer, brand)
    correct(account, "Augusta")
    return account


def correct(account, first_name):
    deed = AuditContext(None, timezone.now())
    return corrections.correct_name(account=account, first_name=first_name, last_name="King", audit_context=deed)


def rename(customer, brand, first_name="Ada"):
    fields = {"first_name": first_name}
    return profile.change(user_id=customer.pk, brand_id=brand.pk, fields=fields, switches=None, at=timezone.now())


def during_a_correction(account, then):
    """What comes of `then`, which begins when a correction has locked the account."""

    def write():
        accounts.set_names(account=account, first_name="Byron", last_name="King", at=timezone.now())

    return while_uncommitted(lambda: corrections.locked(account), then, write)


def test_a_correction_at_one_brand_does_not_stop_a_change_at_another(customer, corrected, other_brand):
    outcome = during_a_correction(corrected, lambda: rename(customer, other_brand))

    assert outcome.names == ("Ada", "")
    customer.refresh_from_db()
    assert customer.first_name == "Ada"
    assert accounts.names_of(customer, corrected.brand_id) == ("Ada", "King")


def test_control_with_the_person_locked_first_they_wait_for_each_other(customer, corrected):
    def person_first():
        with transaction.atomic():
            users.lock_user(user_id=customer.pk)
            accounts.clear_names(accounts=[corrected.pk], names=["first_name"], at=timezone.now())

    try:
        outcome = during_a_correction(corrected, person_first)
    except OperationalError as error:
        outcome = error

    assert "deadlock" in str(outcome)


def test_a_first_correction_that_comes_meanwhile_counts_as_the_later_one(customer, brand, other_brand):
    account = factories.account(customer, brand)

    outcome = while_uncommitted(lambda: correct(account, "Augusta"), lambda: rename(customer, other_brand))

    assert outcome.names == ("Ada", "")
    customer.refresh_from_db()
    assert accounts.names_of(customer, other_brand.pk) == ("Ada", "")
    assert accounts.names_of(customer, brand.pk) == ("Augusta", "King")


def test_changes_and_corrections_at_both_brands_at_once_all_succeed(customer, brand, corrected, other_brand):
    elsewhere = factories.account(customer, other_brand)

    def work(number):
        if number % 2:
            return rename(customer, (brand, other_brand)[number // 2 % 2], f"Ada {number}")
        return correct((corrected, elsewhere)[number // 2 % 2], f"Augusta {number}")

    outcomes = at_once(work, range(24), threads=8)

    assert [each for each in outcomes if isinstance(each, Exception)] == []
