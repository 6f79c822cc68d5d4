"""The external loyalty system is asked within a request that credits at once."""

import time

import pytest

from loyalty.integrations import external_system
from tests.loyalty.integrations.external_systems import WhenRejected, hasten, points_of, system, work
from tests.support import factories
from tests.support.api import error
from tests.support.fakes.fake_http import Reply, receiver, reset_breakers

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def loopback_allowed(settings):
    settings.OUTGOING_PRIVATE_NETWORKS = ["127.0.0.0/8"]
    reset_breakers()


@pytest.fixture
def partner():
    with receiver() as running:
        running.decides(decision="proceed")
        yield running


@pytest.fixture
def app(api, customer):
    return api.as_customer(customer).app()


def test_inline_it_is_asked_in_the_request(app, brand, customer, partner):
    system(brand, partner)
    response = app.credit(customer, factories.code(brand))

    assert (response.status_code, len(partner.calls)) == (200, 1)
    assert response.json()["data"]["points_earned"] == 10


def test_inline_its_final_no_has_a_code_of_its_own(app, brand, customer, partner):
    system(brand, partner, when_rejected=WhenRejected.REJECT)
    partner.decides(decision="refuse", reason="Blocked there")
    response = app.credit(customer, factories.code(brand))

    assert error(response) == (409, "EXTERNALLY_REFUSED")
    assert response.json()["details"] == {"reason": "Blocked there"}


def test_inline_a_held_request_is_kept_and_credited_later(app, brand, customer, partner):
    system(brand, partner)
    partner.answers(Reply(waits=20))
    code = factories.code(brand)
    began = time.monotonic()
    response = app.credit(customer, code, idempotency_key="once")
    took = time.monotonic() - began
    again = app.credit(customer, code, idempotency_key="once")

    assert error(response) == (503, "UNAVAILABLE")
    assert int(response["Retry-After"]) > 0
    assert "kept" in response.json()["message"]
    assert took < 10  # two seconds, and what else the machine does
    assert error(again) == (409, "REQUEST_IN_PROGRESS")

    partner.decides(decision="proceed")
    hasten()
    work()
    assert points_of(customer) == 10
    assert app.credit(customer, code, idempotency_key="once").json()["data"]["points_earned"] == 10
    assert len({call.headers["idempotency-key"] for call in partner.calls}) == 1


def test_inline_nobody_is_asked_through_an_open_breaker(app, brand, customer, partner):
    made = system(brand, partner)
    for _ in range(5):
        external_system.breaker_of(made).failed()
    response = app.credit(customer, factories.code(brand))

    assert error(response) == (503, "UNAVAILABLE")
    assert partner.calls == []
