"""Requests that credit points inline ask the external loyalty system before they answer."""

import time

import pytest

from loyalty.integrations import external_system
from tests.loyalty.integrations.external_systems import (
    WhenRejected,
    create_system,
    make_events_due,
    points_of,
    run_workers,
)
from tests.support import factories
from tests.support.api import error
from tests.support.fakes.fake_http import Reply, receiver, reset_breakers

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def loopback_allowed(settings):
    settings.OUTGOING_PRIVATE_NETWORKS = ["127.0.0.0/8"]
    reset_breakers()


@pytest.fixture
def external_server():
    with receiver() as server:
        server.decides(decision="proceed")
        yield server


@pytest.fixture
def app(api, customer):
    return api.as_customer(customer).app()


def test_external_system_decides_within_the_request(app, brand, customer, external_server):
    create_system(brand, external_server)
    response = app.credit(customer, factories.code(brand))

    assert (response.status_code, len(external_server.calls)) == (200, 1)
    assert response.json()["data"]["points_earned"] == 10


def test_rejection_has_its_own_error_code_and_reason(app, brand, customer, external_server):
    create_system(brand, external_server, when_rejected=WhenRejected.REJECT)
    external_server.decides(decision="refuse", reason="Blocked there")
    response = app.credit(customer, factories.code(brand))

    assert error(response) == (409, "EXTERNALLY_REFUSED")
    assert response.json()["details"] == {"reason": "Blocked there"}


def test_request_without_a_decision_is_stored_and_credited_later(app, brand, customer, external_server):
    create_system(brand, external_server)
    external_server.answers(Reply(waits=20))
    code = factories.code(brand)
    started = time.monotonic()
    response = app.credit(customer, code, idempotency_key="once")
    duration = time.monotonic() - started
    retried = app.credit(customer, code, idempotency_key="once")

    assert error(response) == (503, "UNAVAILABLE")
    assert int(response["Retry-After"]) > 0
    assert "kept" in response.json()["message"]
    assert duration < 10  # two seconds of timeout, plus whatever a busy machine takes
    assert error(retried) == (409, "REQUEST_IN_PROGRESS")

    external_server.decides(decision="proceed")
    make_events_due()
    run_workers()
    assert points_of(customer) == 10
    assert app.credit(customer, code, idempotency_key="once").json()["data"]["points_earned"] == 10
    assert len({call.headers["idempotency-key"] for call in external_server.calls}) == 1


def test_open_circuit_breaker_makes_the_request_unavailable_without_a_call(app, brand, customer, external_server):
    system = create_system(brand, external_server)
    for _ in range(5):
        external_system.breaker_of(system).failed()
    response = app.credit(customer, factories.code(brand))

    assert error(response) == (503, "UNAVAILABLE")
    assert external_server.calls == []
