"""Sessions end at once and for good: tokens of each kind, and sessions of the portal."""

import pytest
from django.test import Client
from django.utils import timezone

from brands.identity import tokens
from brands.models.people import StaffRole, User
from brands.staff_login import staff
from tests.support import factories
from tests.support.api import Api, error
from tests.support.factories import PASSWORD

pytestmark = pytest.mark.django_db


@pytest.fixture
def customer(brand):
    return factories.customer(brand, password=PASSWORD)


def session(brand, user):
    return tokens.issue(user=User.objects.get(pk=user.pk), brand=brand, at=timezone.now())


def statuses_with(brand, pair):
    """Return the statuses of a call that loads the user, of two scans, and of a refresh."""
    api = Api(brand).with_headers(authorization=f"Bearer {pair.access}")
    answers = [
        api.get("customer/loyalty/points"),
        api.verify(factories.code(brand)),
        api.post("auth-codes/scan", {"code": "NOBODY-KNOWS-1"}),
        Api(brand).post("auth/token/refresh", {"refresh": pair.refresh}),
    ]
    return [answer.status_code for answer in answers]


GOOD, ENDED = [200, 200, 400, 200], [401] * 4


def test_new_password_ends_the_sessions(brand, customer):
    pair = session(brand, customer)
    assert statuses_with(brand, pair) == GOOD

    staff.set_password(user=User.objects.get(pk=customer.pk), password="another pass phrase", at=timezone.now())

    assert statuses_with(brand, pair) == ENDED


def test_log_out_ends_one_session_at_once_and_no_other(brand, customer):
    ended, other = session(brand, customer), session(brand, customer)
    assert statuses_with(brand, ended)[:3] == GOOD[:3]

    tokens.revoke(refresh=ended.refresh, at=timezone.now())

    assert statuses_with(brand, ended) == ENDED
    assert statuses_with(brand, other) == GOOD


def test_reactivating_a_customer_does_not_revive_their_tokens(brand, customer):
    pair, user = session(brand, customer), User.objects.get(pk=customer.pk)
    for is_active in (False, True):
        user.is_active = is_active
        staff.save_account(user=user, fields={"is_active"})

    assert statuses_with(brand, pair) == ENDED
    assert statuses_with(brand, session(brand, customer)) == GOOD


def test_reactivating_staff_does_not_revive_their_portal_sessions(brand):
    user = factories.user(is_staff=True)
    StaffRole.objects.create(user=user, brand=brand, role="manager")
    client = Client()
    client.force_login(user)
    assert client.get("/admin/").status_code == 200
    other = User.objects.get(pk=user.pk)
    for is_active in (False, True):
        other.is_active = is_active
        staff.save_account(user=other, fields={"is_active"})

    assert client.get("/admin/").status_code == 302


def test_login_during_a_password_change_gets_no_valid_session(brand, customer):
    """The login reads the user before the change, and creates its session after the others were ended."""
    stale_user = User.objects.get(pk=customer.pk)
    staff.set_password(user=User.objects.get(pk=customer.pk), password="another pass phrase", at=timezone.now())

    assert statuses_with(brand, tokens.issue(user=stale_user, brand=brand, at=timezone.now())) == ENDED


def test_event_with_a_revoked_token_is_rejected(brand, customer):
    pair = session(brand, customer)
    tokens.revoke(refresh=pair.refresh, at=timezone.now())
    envelope = {
        "version": "0",
        "id": "3c4f2a1e-9d7b-4f60-8a3e-2b1c0d9e8f7a",
        "detail-type": "log-user-login",
        "source": "shop.customer-app",
        "account": "1",
        "time": "2026-03-14T09:26:53Z",
        "region": "local",
        "resources": [],
        "detail": {
            "arguments": {
                "brand_id": brand.pk,
                "user_id": customer.pk,
                "authorization": f"Bearer {pair.access}",
            },
            "payload": {"type": "login", "sessionId": "1", "channel": "app", "timestamp": "2026-03-14T09:26:53Z"},
        },
    }

    assert error(Api(brand).hub().post("events", envelope)) == (401, "TOKEN_INVALID")
