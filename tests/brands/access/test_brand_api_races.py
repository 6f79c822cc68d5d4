"""The brand's own API called several times at once: a request with a key happens once."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from brands.models.idempotent_requests import IdempotentRequest
from loyalty.models.accounts import UserPoints
from tests.support.api import Api
from tests.support.endpoints import make_scenario


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("guarded", [True, False], ids=["with a key", "control: without"])
def test_of_two_at_once_one_happens(api: Api, guarded):
    scenario = make_scenario(api)
    start = UserPoints.objects.get(user=scenario.customer).points
    headers = {"idempotency_key": "race"} if guarded else {}

    def adjust(_number):
        try:
            return scenario.call("adjust_points", **headers)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(adjust, range(8)))

    assert {answer.status_code for answer in answers} == {201}
    times = 1 if guarded else 8
    assert UserPoints.objects.get(user=scenario.customer).points == start + 5 * times
    assert len({answer.json()["data"]["transaction_id"] for answer in answers}) == times
    assert IdempotentRequest.objects.count() == (1 if guarded else 0)
