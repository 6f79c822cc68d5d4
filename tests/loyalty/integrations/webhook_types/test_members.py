"""Events about members."""

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
from tests.loyalty.integrations.webhook_types.support import by_hand
from tests.loyalty.integrations.webhooks import endpoint
from tests.support import factories
from tests.support.factories import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)


def test_member_enrolled(brand, received):
    person = factories.customer(brand, enrolled=False)
    at = datetime(2026, 3, 14, 9, 26, 53, 589000, tzinfo=UTC)
    for _again in range(2):
        accounts.enrol(user_id=person.pk, brand_id=brand.pk, at=at)

    assert received("member.enrolled") == [{"user_id": person.pk, "enrolled_at": "2026-03-14T09:26:53.589Z"}]


def test_an_enrolment_that_is_rolled_back_is_not_published(brand, received):
    person = factories.customer(brand, enrolled=False)
    with transaction.atomic():
        accounts.enrol(user_id=person.pk, brand_id=brand.pk, at=timezone.now())
        transaction.set_rollback(True)

    assert received("member.enrolled") == []


def test_enrolment_at_a_brand_whose_webhooks_want_something_else_publishes_nothing(shop):
    brand = factories.brand()
    endpoint(brand, shop, types=[WebhookType.MEMBER_BLOCKED])
    endpoint(factories.brand(), shop)
    factories.customer(brand)

    assert not Event.objects.filter(detail_type="announce").exists()


def switch(customer, brand, status):
    return blocking.set_status(accounts=[factories.account(customer, brand)], status=status, at=timezone.now())


def test_member_blocked(brand, customer, received):
    stale = factories.account(customer, brand)
    switch(customer, brand, UserPoints.Status.BLOCKED)
    again = blocking.set_status(accounts=[stale], status=UserPoints.Status.BLOCKED, at=timezone.now())

    assert (received("member.blocked"), again) == ([{"user_id": customer.pk}], [])


def test_member_unblocked(brand, customer, received):
    for status in (UserPoints.Status.BLOCKED, UserPoints.Status.ACTIVE, UserPoints.Status.ACTIVE):
        switch(customer, brand, status)

    assert received("member.unblocked") == [{"user_id": customer.pk}]


def test_member_merged(brand, customer, received):
    other = factories.customer(brand)
    factories.points(other, brand, 5)
    made = factories.merge(customer, other, brand)

    [body] = received("member.merged")
    assert (body["user_id"], body["merged_user_id"], body["merge_id"]) == (customer.pk, other.pk, made.pk)
    assert (body["points_moved"], body["new_balance"]) == (5, 5)


def test_member_unmerged(brand, customer, received):
    other = factories.customer(brand)
    factories.points(other, brand, 5)
    made = factories.merge(customer, other, brand)
    for _again in range(2):
        undo.undo(made=made, audit_context=by_hand())

    [body] = received("member.unmerged")
    assert (body["user_id"], body["merged_user_id"], body["new_balance"]) == (customer.pk, other.pk, 0)


def test_member_changed(brand, customer, received):
    account = factories.account(customer, brand)
    fields = {"first_name": "Ada", "phone": "+4930123456"}
    for _again in range(2):
        profile.change(user_id=customer.pk, brand_id=brand.pk, fields=fields, switches=None, at=timezone.now())
        changes.set_external_id(
            member=UserPoints.objects.get(pk=account.pk), external_id="CRM-1", audit_context=by_hand()
        )
        corrections.correct_name(account=account, first_name="Ada", last_name="Lovelace", audit_context=by_hand())

    assert sorted(received("member.changed"), key=str) == [
        {"user_id": customer.pk, "changed": ["external_id"]},
        {"user_id": customer.pk, "changed": ["first_name", "phone"]},
        {"user_id": customer.pk, "changed": ["last_name"]},
    ]


def test_a_new_address_is_a_change_once_it_is_confirmed(brand, received):
    person = factories.customer(brand, password=PASSWORD)
    account = factories.account(person, brand)
    corrections.request_email_change(account=account, email="new@example.com", audit_context=by_hand())
    assert received("member.changed") == []

    waiting = EmailConfirmation.objects.get(user=person)
    token = signing.dumps({"c": str(waiting.pk)}, salt=rendering.CHANGE_EMAIL)
    confirmations.finish_change(token=token, password=PASSWORD, at=timezone.now())

    assert received("member.changed") == [{"user_id": person.pk, "changed": ["email"]}]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_member_erased(brand, customer, received, deliver, elsewhere):
    if elsewhere:
        accounts.enrol(user_id=customer.pk, brand_id=factories.brand().pk, at=timezone.now())
    erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=by_hand())
    deliver()

    assert received("member.erased") == [{"user_id": customer.pk}]
    assert received("member.blocked") == []
    assert WebhookDelivery.objects.get(type="member.erased").user_id is None
