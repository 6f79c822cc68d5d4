"""How many SQL statements a scan and an accrual take, including BEGIN and COMMIT."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext
from brands.identity import tokens
from events import delivery as events
from events import leases, worker
from events.models import Event
from loyalty.integrations import webhook_endpoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.webhooks import WebhookType
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def brand():
    brand = factories.brand()
    factories.level(brand)
    factories.campaign(brand)
    return brand


def statements_of(action):
    with CaptureQueriesContext(connection) as captured:
        action()
    return [query["sql"] for query in captured.captured_queries]


def test_a_scan_request_takes_two_statements(brand):
    customer, code = factories.customer(brand), factories.code(brand)
    access_token = tokens.issue(user=customer, brand=brand, at=timezone.now()).access
    client = Client(headers={"authorization": f"Bearer {access_token}"})

    statements = statements_of(
        lambda: client.post(
            f"/api/v1/verify/product/{code}", {"latitude": 1, "longitude": 2}, content_type="application/json"
        )
    )

    assert len(statements) == 2, statements


def test_an_accrual_takes_four_statements(brand):
    customer, code = factories.customer(brand), factories.code(brand)
    scanning.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=customer.pk))

    def deliver_one():
        for delivery in leases.claim(limit=1):
            events.deliver(delivery)

    statements = statements_of(deliver_one)

    assert len(statements) == 4, statements


@pytest.mark.parametrize(("customers", "rounds"), [(10, 1), (1, 10)], ids=["of ten customers", "of one customer"])
def test_statement_count_of_a_portion_depends_on_events_per_customer(brand, settings, customers, rounds):
    settings.EVENT_BATCH = 10
    settings.FAIR_SHARES = False  # also skips the occasional search for other brands' events
    users = [factories.customer(brand) for _ in range(customers)]
    for number, code in enumerate(factories.batch(brand, quantity=20).codes.all()):
        context = ScanContext(at=timezone.now(), user_id=users[number % customers].pk)
        scanning.scan(scanned=code.code, context=context)

    statements = statements_of(worker.drain)

    # For each portion: the claim, the codes, and a snapshot and a write for each event of the customer with the most
    # events. Then two empty claims: one after the last portion, and one after wake-ups count again.
    assert len(statements) == 2 * (2 + 2 * rounds) + 2
    assert LoyaltyTransaction.objects.count() == 20


def test_webhooks_add_no_statements(brand, settings):
    settings.OUTGOING_PRIVATE_NETWORKS = ["127.0.0.0/8"]
    now = timezone.now()
    webhook_endpoints.create(brand=brand, url="http://127.0.0.1:9/", types=list(WebhookType), at=now)
    customer, code = factories.customer(brand), factories.code(brand)
    context = ScanContext(at=now, user_id=customer.pk)

    scan = statements_of(lambda: scanning.scan(scanned=code.code, context=context))
    second_scan = statements_of(lambda: scanning.scan(scanned=code.code, context=context))
    [delivery] = leases.claim(limit=1)
    accrual = statements_of(lambda: events.deliver(delivery))

    # The second scan also queries the customer's earlier scan of the used-up code, whose points may be limited.
    assert (len(scan), len(second_scan), len(accrual)) == (2, 3, 3)
    kinds = Event.objects.filter(detail_type="announce").values_list("detail__payload__type", flat=True)
    assert sorted(kinds) == ["code.scanned", "code.scanned", "member.enrolled", "points.earned"]
