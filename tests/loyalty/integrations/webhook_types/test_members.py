"""Webhook events about members."""

from datetime import UTC, datetime

import pytest
from django.core import signing
from django.db import transaction
from django.utils import timezone

from events.models import Event
from loyalty.members import blocking, changes, confirmations, corrections, erasure, profile
from loyalty.merges import undo
from loyalty.models.accounts import UserPoints
from loyalty.models.members.confirmations import EmailConfirmation
from loyalty.models.webhooks import WebhookDelivery, WebhookType
from loyalty.notifications import rendering
from loyalty.points import accounts
from tests.loyalty.integrations.webhook_types.support import staff_context
from tests.loyalty.integrations.webhooks import endpoint
from tests.support import factories
from tests.support.factories import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)


def test_member_enrolled(brand, received):
    customer = factories.customer(brand, enrolled=False)
    at = datetime(2026, 3, 14, 9, 26, 53, 589000, tzinfo=UTC)
    for _again in range(2):
        accounts.enrol(user_id=customer.pk, brand_id=brand.pk, at=at)

    assert received("member.enrolled") == [{"user_id": customer.pk, "enrolled_at": "2026-03-14T09:26:53.589Z"}]


def test_enrolment_that_is_rolled_back_sends_nothing(brand, received):
    customer = factories.customer(brand, enrolled=False)
    with transaction.atomic():
        accounts.enrol(user_id=customer.pk, brand_id=brand.pk, at=timezone.now())
        transaction.set_rollback(True)

    assert received("member.enrolled") == []


def test_enrolment_publishes_nothing_without_a_subscription_to_its_type(shop):
    brand = factories.brand()
    endpoint(brand, shop, types=[WebhookType.MEMBER_BLOCKED])
    endpoint(factories.brand(), shop)
    factories.customer(brand)

    assert not Event.objects.filter(detail_type="announce").exists()


def set_status(customer, brand, status):
    return blocking.set_status(accounts=[factories.account(customer, brand)], status=status, at=timezone.now())


def test_member_blocked(brand, customer, received):
    stale_account = factories.account(customer, brand)
    set_status(customer, brand, UserPoints.Status.BLOCKED)
    changed_again = blocking.set_status(accounts=[stale_account], status=UserPoints.Status.BLOCKED, at=timezone.now())

    assert (received("member.blocked"), changed_again) == ([{"user_id": customer.pk}], [])


def test_member_unblocked(brand, customer, received):
    for status in (UserPoints.Status.BLOCKED, UserPoints.Status.ACTIVE, UserPoints.Status.ACTIVE):
        set_status(customer, brand, status)

    assert received("member.unblocked") == [{"user_id": customer.pk}]


def test_member_merged(brand, customer, received):
    other = factories.customer(brand)
    factories.points(other, brand, 5)
    merge = factories.merge(customer, other, brand)

    [body] = received("member.merged")
    assert (body["user_id"], body["merged_user_id"], body["merge_id"]) == (customer.pk, other.pk, merge.pk)
    assert (body["points_moved"], body["new_balance"]) == (5, 5)


def test_member_unmerged(brand, customer, received):
    other = factories.customer(brand)
    factories.points(other, brand, 5)
    merge = factories.merge(customer, other, brand)
    for _again in range(2):
        undo.undo(made=merge, audit_context=staff_context())

    [body] = received("member.unmerged")
    assert (body["user_id"], body["merged_user_id"], body["new_balance"]) == (customer.pk, other.pk, 0)


def test_member_changed(brand, customer, received):
    account = factories.account(customer, brand)
    fields = {"first_name": "Ada", "phone": "+4930123456"}
    for _again in range(2):
        profile.change(user_id=customer.pk, brand_id=brand.pk, fields=fields, switches=None, at=timezone.now())
        changes.set_external_id(
            member=UserPoints.objects.get(pk=account.pk), external_id="CRM-1", audit_context=staff_context()
        )
        corrections.correct_name(account=account, first_name="Ada", last_name="Lovelace", audit_context=staff_context())

    assert sorted(received("member.changed"), key=str) == [
        {"user_id": customer.pk, "changed": ["external_id"]},
        {"user_id": customer.pk, "changed": ["first_name", "phone"]},
        {"user_id": customer.pk, "changed": ["last_name"]},
    ]


def test_new_email_address_is_a_change_only_once_confirmed(brand, received):
    customer = factories.customer(brand, password=PASSWORD)
    account = factories.account(customer, brand)
    corrections.request_email_change(account=account, email="new@example.com", audit_context=staff_context())
    assert received("member.changed") == []

    waiting = EmailConfirmation.objects.get(user=customer)
    token = signing.dumps({"c": str(waiting.pk)}, salt=rendering.CHANGE_EMAIL)
    confirmations.finish_change(token=token, password=PASSWORD, at=timezone.now())

    assert received("member.changed") == [{"user_id": customer.pk, "changed": ["email"]}]


@pytest.mark.parametrize("is_member_elsewhere", [False, True])
def test_member_erased(brand, customer, received, deliver_events, is_member_elsewhere):
    if is_member_elsewhere:
        accounts.enrol(user_id=customer.pk, brand_id=factories.brand().pk, at=timezone.now())
    erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=staff_context())
    deliver_events()

    assert received("member.erased") == [{"user_id": customer.pk}]
    assert received("member.blocked") == []
    assert WebhookDelivery.objects.get(type="member.erased").user_id is None
