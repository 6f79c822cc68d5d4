"""How many SQL statements a scan and an accrual cost, BEGIN and COMMIT counted too."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from authcodes import scanning
from authcodes.scanning import Circumstances
from brands import tokens
from loyalty import events
from tests import make

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def brand():
    made = make.brand()
    make.level(made)
    make.campaign(made)
    return made


def statements_of(work):
    with CaptureQueriesContext(connection) as captured:
        work()
    return [query["sql"] for query in captured.captured_queries]


def test_a_scan_request_takes_three_statements(brand):
    customer, code = make.customer(brand), make.code(brand)
    access = tokens.issue(user=customer, brand=brand, at=timezone.now()).access
    client = Client(headers={"authorization": f"Bearer {access}"})

    statements = statements_of(
        lambda: client.post(
            f"/api/v1/verify/product/{code}", {"latitude": 1, "longitude": 2}, content_type="application/json"
        )
    )

    assert len(statements) == 3, statements


def test_an_accrual_takes_nine_statements(brand):
    customer, code = make.customer(brand), make.code(brand)
    scanning.scan(scanned=code.code, about=Circumstances(at=timezone.now(), user_id=customer.pk))

    def deliver_one():
        for delivery in events.claim(limit=1):
            events.deliver(delivery)

    statements = statements_of(deliver_one)

    assert len(statements) == 9, statements
    assert (statements[3], statements[-1]) == ("BEGIN", "COMMIT")


def test_delivering_many_claims_them_in_portions(brand, settings):
    settings.EVENT_BATCH = 10
    customer = make.customer(brand)
    for code in make.batch(brand, quantity=20).codes.all():
        scanning.scan(scanned=code.code, about=Circumstances(at=timezone.now(), user_id=customer.pk))

    statements = statements_of(events.drain)

    assert len(statements) == 20 * 8 + 3
