"""Concurrent calls of the brand's own API: a request with an idempotency key is executed once."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from brands.models.idempotent_requests import IdempotentRequest
from loyalty.models.accounts import UserPoints
from tests.support.api import Api
from tests.support.endpoints import make_scenario


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("has_key", [True, False], ids=["with a key", "control: without"])
def test_concurrent_requests_with_an_idempotency_key_are_executed_once(api: Api, has_key):
    scenario = make_scenario(api)
    start = UserPoints.objects.get(user=scenario.customer).points
    headers = {"idempotency_key": "race"} if has_key else {}

    def adjust(_number):
        try:
            return scenario.call("adjust_points", **headers)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(adjust, range(8)))

    assert {answer.status_code for answer in answers} == {201}
    executions = 1 if has_key else 8
    assert UserPoints.objects.get(user=scenario.customer).points == start + 5 * executions
    assert len({answer.json()["data"]["transaction_id"] for answer in answers}) == executions
    assert IdempotentRequest.objects.count() == (1 if has_key else 0)
