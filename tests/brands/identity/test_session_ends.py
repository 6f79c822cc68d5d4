"""What ends a session ends it at once and for good: tokens of each kind, and sessions of the portal."""

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


def uses(brand, pair):
    """What the access token gets where the user is loaded, and where the scan's statement looks; and the refresh."""
    api = Api(brand).having(authorization=f"Bearer {pair.access}")
    endpoints = [
        api.get("customer/loyalty/points"),
        api.verify(factories.code(brand)),
        api.post("auth-codes/scan", {"code": "NOBODY-KNOWS-1"}),
        Api(brand).post("auth/token/refresh", {"refresh": pair.refresh}),
    ]
    return [answer.status_code for answer in endpoints]


GOOD, ENDED = [200, 200, 400, 200], [401] * 4


def test_a_new_password_ends_them(brand, customer):
    pair = session(brand, customer)
    assert uses(brand, pair) == GOOD

    staff.set_password(user=User.objects.get(pk=customer.pk), password="another pass phrase", at=timezone.now())

    assert uses(brand, pair) == ENDED


def test_logging_out_ends_one_session_at_once_and_no_other(brand, customer):
    ended, other = session(brand, customer), session(brand, customer)
    assert uses(brand, ended)[:3] == GOOD[:3]

    tokens.revoke(refresh=ended.refresh, at=timezone.now())

    assert uses(brand, ended) == ENDED
    assert uses(brand, other) == GOOD


def test_switching_somebody_on_again_revives_nothing(brand, customer):
    pair, person = session(brand, customer), User.objects.get(pk=customer.pk)
    for is_active in (False, True):
        person.is_active = is_active
        staff.save_account(user=person, fields={"is_active"})

    assert uses(brand, pair) == ENDED
    assert uses(brand, session(brand, customer)) == GOOD


def test_switching_staff_on_again_revives_no_session_of_the_portal(brand):
    person = factories.user(is_staff=True)
    StaffRole.objects.create(user=person, brand=brand, role="manager")
    client = Client()
    client.force_login(person)
    assert client.get("/admin/").status_code == 200
    other = User.objects.get(pk=person.pk)
    for is_active in (False, True):
        other.is_active = is_active
        staff.save_account(user=other, fields={"is_active"})

    assert client.get("/admin/").status_code == 302


def test_a_login_that_was_under_way_when_the_password_changed_gets_nothing(brand, customer):
    """It read the user before, and makes its session after the others were ended."""
    under_way = User.objects.get(pk=customer.pk)
    staff.set_password(user=User.objects.get(pk=customer.pk), password="another pass phrase", at=timezone.now())

    assert uses(brand, tokens.issue(user=under_way, brand=brand, at=timezone.now())) == ENDED


def test_an_event_with_a_token_that_has_ended_vouches_for_nobody(brand, customer):
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
