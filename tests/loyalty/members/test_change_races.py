"""Changes of members by the brand's own systems while others change or erase the member, on separate connections."""

import pytest
from django.db import OperationalError
from django.utils import timezone

from brands.audit_log import AuditContext
from brands.errors import UserNotFound
from loyalty.members import changes, corrections, enrolment, erasure, profile
from loyalty.models.members.birthdays import Birthday
from loyalty.points import accounts, birthdays
from tests.support import factories
from tests.support.concurrency import run_during_transaction

pytestmark = pytest.mark.django_db(transaction=True)


def context():
    return AuditContext(None, timezone.now())


@pytest.fixture
def member(customer, brand):
    return factories.account(customer, brand)


def set_birthday(member, birthday):
    changes.set_birthday(member=member, birthday=birthday, audit_context=context())


def set_external_id(member):
    changes.set_external_id(member=member, external_id="CRM-1", audit_context=context())


@pytest.mark.parametrize("stays_elsewhere", [True, False])
@pytest.mark.parametrize("change", [set_external_id, lambda member: set_birthday(member, "12-31")])
def test_change_during_an_erasure_does_not_restore_personal_data(customer, brand, member, change, stays_elsewhere):
    if stays_elsewhere:
        accounts.enrol(user_id=customer.pk, brand_id=factories.brand().pk, at=timezone.now())

    outcome = run_during_transaction(
        lambda: erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=context()), lambda: change(member)
    )

    assert isinstance(outcome, UserNotFound)
    member.refresh_from_db()
    assert member.external_id == ""
    assert not Birthday.objects.exists()


def test_enrolment_during_an_erasure_finds_no_customer(brand):
    customer = factories.customer(brand, enrolled=False)

    outcome = run_during_transaction(
        lambda: erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=context()),
        lambda: enrolment.enrol_one(brand=brand, user_id=customer.pk, audit_context=context()),
    )

    assert isinstance(outcome, UserNotFound)


def set_birthday_during_a_profile_change(customer, brand, member, lock):
    """The outcome of the brand's change, which starts when the customer's has locked the account."""

    def change_profile():
        fields = {"birthday": "03-01"}
        profile.change(user_id=customer.pk, brand_id=brand.pk, fields=fields, switches=None, at=timezone.now())

    return run_during_transaction(lambda: lock(member), lambda: set_birthday(member, "12-31"), change_profile)


def test_birthday_set_by_customer_and_brand_at_once_is_the_last_one(customer, brand, member):
    set_birthday(member, "01-01")

    assert set_birthday_during_a_profile_change(customer, brand, member, corrections.locked) is None
    assert birthdays.read(customer.pk, brand.pk) == "12-31"


def test_control_without_the_lock_both_changes_of_a_birthday_deadlock(customer, brand, member, monkeypatch):
    set_birthday(member, "01-01")
    lock = corrections.locked
    monkeypatch.setattr(corrections, "locked", lambda account: account)

    try:
        outcome = set_birthday_during_a_profile_change(customer, brand, member, lock)
    except OperationalError as error:
        outcome = error

    assert "deadlock" in str(outcome)


def change_first_name_during_correction_of_last_name(member):
    read_before = factories.account(member.user, member.brand)

    def correct_last_name():
        corrections.correct_name(account=member, first_name="Ada", last_name="King", audit_context=context())

    def change_first_name():
        changes.change_identity(member=read_before, values={"first_name": "Augusta"}, audit_context=context())

    run_during_transaction(correct_last_name, change_first_name)
    member.refresh_from_db()
    return member.names


def test_first_and_last_name_changed_at_once_are_both_kept(member):
    assert change_first_name_during_correction_of_last_name(member) == ("Augusta", "King")


def test_control_without_the_lock_the_corrected_last_name_is_lost(member, monkeypatch):
    monkeypatch.setattr(corrections, "locked", lambda account: account)

    assert change_first_name_during_correction_of_last_name(member) == ("Augusta", "")
