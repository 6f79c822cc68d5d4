"""How many SQL statements a scan and an accrual cost, BEGIN and COMMIT counted too."""

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
    made = factories.brand()
    factories.level(made)
    factories.campaign(made)
    return made


def statements_of(work):
    with CaptureQueriesContext(connection) as captured:
        work()
    return [query["sql"] for query in captured.captured_queries]


def test_a_scan_request_takes_two_statements(brand):
    customer, code = factories.customer(brand), factories.code(brand)
    access = tokens.issue(user=customer, brand=brand, at=timezone.now()).access
    client = Client(headers={"authorization": f"Bearer {access}"})

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
def test_a_portion_is_claimed_read_decided_and_written_together(brand, settings, customers, rounds):
    settings.EVENT_BATCH = 10
    settings.FAIR_SHARES = False  # nor is there a search for other brands' events, which comes now and then
    people = [factories.customer(brand) for _ in range(customers)]
    for number, code in enumerate(factories.batch(brand, quantity=20).codes.all()):
        context = ScanContext(at=timezone.now(), user_id=people[number % customers].pk)
        scanning.scan(scanned=code.code, context=context)

    statements = statements_of(worker.drain)

    # Of each portion a claim, the codes, and a round for each event of the customer who has most of them: facts and
    # writing. One look while nobody calls, and a last one when everybody does again.
    assert len(statements) == 2 * (2 + 2 * rounds) + 2
    assert LoyaltyTransaction.objects.count() == 20


def test_webhooks_add_none(brand, settings):
    settings.OUTGOING_PRIVATE_NETWORKS = ["127.0.0.0/8"]
    now = timezone.now()
    webhook_endpoints.create(brand=brand, url="http://127.0.0.1:9/", types=list(WebhookType), at=now)
    customer, code = factories.customer(brand), factories.code(brand)
    context = ScanContext(at=now, user_id=customer.pk)

    scan = statements_of(lambda: scanning.scan(scanned=code.code, context=context))
    again = statements_of(lambda: scanning.scan(scanned=code.code, context=context))
    [delivery] = leases.claim(limit=1)
    accrual = statements_of(lambda: events.deliver(delivery))

    # Of a used-up code its customer's earlier scan is looked for: a limit may have held its points back.
    assert (len(scan), len(again), len(accrual)) == (2, 3, 3)
    kinds = Event.objects.filter(detail_type="announce").values_list("detail__payload__type", flat=True)
    assert sorted(kinds) == ["code.scanned", "code.scanned", "member.enrolled", "points.earned"]
