"""Concurrent changes of a name by the customer and corrections by a brand's staff, on separate connections."""

import pytest
from django.db import OperationalError, transaction
from django.utils import timezone

from brands.audit_log import AuditContext
from brands.identity import users
from loyalty.members import corrections, profile
from loyalty.points import accounts
from tests.support import factories
from tests.support.concurrency import run_concurrently, run_during_transaction

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def other_brand(customer):
    brand = factories.brand()
    accounts.enrol(user_id=customer.pk, brand_id=brand.pk, at=timezone.now())
    return brand


@pytest.fixture
def corrected_account(customer, brand):
    """The account at the brand that corrects the customer's name."""
    account = factories.account(customer, brand)
    correct(account, "Augusta")
    return account


def correct(account, first_name):
    audit_context = AuditContext(None, timezone.now())
    return corrections.correct_name(
        account=account, first_name=first_name, last_name="King", audit_context=audit_context
    )


def rename(customer, brand, first_name="Ada"):
    fields = {"first_name": first_name}
    return profile.change(user_id=customer.pk, brand_id=brand.pk, fields=fields, switches=None, at=timezone.now())


def run_during_correction(account, change):
    """The outcome of `change`, which starts when a correction has locked the account."""

    def write_names():
        accounts.set_names(account=account, first_name="Byron", last_name="King", at=timezone.now())

    return run_during_transaction(lambda: corrections.locked(account), change, write_names)


def test_correction_at_one_brand_does_not_block_a_change_at_another(customer, corrected_account, other_brand):
    outcome = run_during_correction(corrected_account, lambda: rename(customer, other_brand))

    assert outcome.names == ("Ada", "")
    customer.refresh_from_db()
    assert customer.first_name == "Ada"
    assert accounts.names_of(customer, corrected_account.brand_id) == ("Ada", "King")


def test_control_locking_the_user_before_the_account_deadlocks(customer, corrected_account):
    def lock_user_first():
        with transaction.atomic():
            users.lock_user(user_id=customer.pk)
            accounts.clear_names(accounts=[corrected_account.pk], names=["first_name"], at=timezone.now())

    try:
        outcome = run_during_correction(corrected_account, lock_user_first)
    except OperationalError as error:
        outcome = error

    assert "deadlock" in str(outcome)


def test_first_correction_during_a_change_stays_at_its_brand(customer, brand, other_brand):
    account = factories.account(customer, brand)

    outcome = run_during_transaction(lambda: correct(account, "Augusta"), lambda: rename(customer, other_brand))

    assert outcome.names == ("Ada", "")
    customer.refresh_from_db()
    assert accounts.names_of(customer, other_brand.pk) == ("Ada", "")
    assert accounts.names_of(customer, brand.pk) == ("Augusta", "King")


def test_concurrent_changes_and_corrections_at_two_brands_all_succeed(customer, brand, corrected_account, other_brand):
    other_account = factories.account(customer, other_brand)

    def change_or_correct(number):
        if number % 2:
            return rename(customer, (brand, other_brand)[number // 2 % 2], f"Ada {number}")
        return correct((corrected_account, other_account)[number // 2 % 2], f"Augusta {number}")

    outcomes = run_concurrently(change_or_correct, range(24), threads=8)

    assert [each for each in outcomes if isinstance(each, Exception)] == []
