"""Events from SQS, tested with a server that speaks its protocol: stored once, and deleted only after the commit."""

import json
import uuid
from datetime import UTC, datetime, timedelta

import boto3
import pytest
from django.core.management import CommandError, call_command
from moto.server import ThreadedMotoServer

from brands.identity import tokens
from brands.tenants import quotas
from campaigns.intake import sqs as queue
from core.errors import TokenInvalid
from events.models import Event
from tests.support import factories
from tests.support.live_stack import free_port

pytestmark = pytest.mark.django_db(transaction=True)

MAX_RECEIPTS = 2


@pytest.fixture(scope="module")
def aws():
    port = free_port()
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
    server.start()
    yield f"http://127.0.0.1:{port}"
    server.stop()


@pytest.fixture
def brand(transactional_db):
    new_brand = factories.brand()
    factories.level(new_brand)
    return new_brand


@pytest.fixture
def customer(brand):
    return factories.customer(brand)


class Queue:
    """A queue with a dead-letter queue."""

    def __init__(self, client):
        self.client = client
        name = uuid.uuid4().hex
        self.dead = client.create_queue(QueueName=f"{name}-dead")["QueueUrl"]
        arn = client.get_queue_attributes(QueueUrl=self.dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
        policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": MAX_RECEIPTS})
        attributes = {"RedrivePolicy": policy, "VisibilityTimeout": "0"}
        self.url = client.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]

    def send(self, body):
        text = body if isinstance(body, str) else json.dumps(body)
        return self.client.send_message(QueueUrl=self.url, MessageBody=text)["MessageId"]

    def waiting(self, url=None):
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        counts = self.client.get_queue_attributes(QueueUrl=url or self.url, AttributeNames=names)["Attributes"]
        return sum(int(number) for number in counts.values())


@pytest.fixture
def sqs(aws, brand, settings, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "access")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", aws)
    settings.SQS_BRANDS = [str(brand.pk)]
    new_queue = Queue(boto3.client("sqs", endpoint_url=aws, region_name="eu-central-1"))
    settings.SQS_QUEUE_URL = new_queue.url
    return new_queue


def order(brand, customer, **more):
    payload = {"type": "order", "order": {"orderId": uuid.uuid4().hex, "subtotal": 20}}
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "order-complete",
        "source": "shop.customer-app",
        "account": "123456789012",
        "time": datetime.now(UTC).isoformat(),
        "region": "eu-central-1",
        "resources": [],
        "detail": {"arguments": {"brand_id": brand.pk, "user_id": customer.pk}, "payload": payload},
        **more,
    }


def receive():
    call_command("receive_sqs", "--until-empty", "--wait", "0", stdout=open("/dev/null", "w"))  # noqa: SIM115, PTH123


def test_events_are_stored_and_removed_from_the_queue(sqs, brand, customer):
    ids = [sqs.send(order(brand, customer)) for _ in range(12)]  # more than one portion

    receive()

    assert sqs.waiting() == 0
    stored = Event.objects.filter(detail_type="order-complete", source="shop.customer-app")
    assert set(stored.values_list("request_id", flat=True)) == set(ids)


def test_queue_is_trusted_for_a_brand_id_and_not_for_a_slug(sqs, brand, customer):
    """Another brand has the id of the trusted brand as its slug."""
    other = factories.brand(slug=str(brand.pk))
    brand.slug = "renamed"
    brand.save()
    sqs.send(order(brand, customer))
    sqs.send(order(other, factories.customer(other)))

    receive()

    assert list(Event.objects.filter(detail_type="order-complete").values_list("brand_id", flat=True)) == [brand.pk]


def test_events_count_against_the_quota_but_are_never_rejected_for_it(sqs, brand, customer, settings):
    settings.QUOTAS = {**settings.QUOTAS, "events": 1}
    before = quotas.counters([brand.pk])[brand.pk, "events"]
    duplicate = order(brand, customer)
    for event in (order(brand, customer), duplicate, duplicate):
        sqs.send(event)

    receive()

    assert quotas.counters([brand.pk])[brand.pk, "events"] == before + 2
    assert (sqs.waiting(), sqs.waiting(sqs.dead)) == (0, 0)


def test_duplicate_event_is_stored_once(sqs, brand, customer):
    event = order(brand, customer)
    for _ in range(2):
        sqs.send(event)

    receive()

    assert (sqs.waiting(), Event.objects.count()) == (0, 1)


@pytest.mark.parametrize(
    "invalid_fields",
    [
        {"source": "nobody"},
        {"time": "yesterday"},
        {"id": "7"},
        {"detail-type": "balance-changed"},
        {"detail": {"arguments": {"brand_id": 1}, "payload": {}}},
    ],
)
def test_invalid_messages_go_to_the_dead_letter_queue_and_others_pass(sqs, brand, customer, invalid_fields):
    sqs.send(order(brand, customer, **invalid_fields))
    sqs.send("{not json")
    sqs.send(order(brand, customer))

    receive()

    assert Event.objects.count() == 1
    assert (sqs.waiting(), sqs.waiting(sqs.dead)) == (0, 2)


def test_event_of_a_brand_not_trusted_to_the_queue_is_rejected(sqs):
    other = factories.brand()
    sqs.send(order(other, factories.customer(other)))

    receive()

    assert (Event.objects.count(), sqs.waiting(sqs.dead)) == (0, 1)


def test_customer_of_another_brand_needs_a_valid_token(sqs, brand):
    foreign_customer = factories.customer(factories.brand())
    access = tokens.issue(user=foreign_customer, brand=brand, at=datetime.now(UTC)).access
    token_verified = order(brand, foreign_customer)
    token_verified["detail"]["arguments"]["authorization"] = f"Bearer {access}"
    sqs.send(order(brand, foreign_customer))
    sqs.send(token_verified)

    receive()

    assert [event.detail["arguments"] for event in Event.objects.all()] == [
        {"brand_id": brand.pk, "user_id": foreign_customer.pk}
    ]
    assert access not in str(Event.objects.values_list())


def expired_token(user, brand):
    access = tokens.issue(user=user, brand=brand, at=datetime.now(UTC) - timedelta(days=2)).access
    with pytest.raises(TokenInvalid):
        tokens.verify_access(access)
    return access


@pytest.mark.parametrize("token", ["expired", "malformed"])
def test_event_of_a_member_is_stored_despite_an_invalid_token(sqs, brand, customer, token):
    access = expired_token(customer, brand) if token == "expired" else "eyJhbGciOiJIUzI1NiJ9.e30.x"
    late = order(brand, customer)
    late["detail"]["arguments"]["authorization"] = f"Bearer {access}"
    sqs.send(late)

    receive()

    assert (sqs.waiting(), sqs.waiting(sqs.dead), Event.objects.count()) == (0, 0, 1)
    assert access not in str(Event.objects.values_list())


def test_expired_token_proves_nothing_about_a_customer_of_another_brand(sqs, brand):
    foreign_customer = factories.customer(factories.brand())
    late = order(brand, foreign_customer)
    late["detail"]["arguments"]["authorization"] = f"Bearer {expired_token(foreign_customer, brand)}"
    sqs.send(late)

    receive()

    assert (Event.objects.count(), sqs.waiting(sqs.dead)) == (0, 1)


def test_no_message_is_lost_or_used_up_without_the_database(sqs, brand, customer):
    from django.db import OperationalError, connection

    sqs.send(order(brand, customer))
    sqs.send(order(brand, customer))

    def database_down(*_arguments):
        raise OperationalError("away")

    with connection.execute_wrapper(database_down), pytest.raises(queue.DatabaseAway):
        queue.receive_batch(queue.client(), wait_seconds=0)
    left = sqs.waiting()
    receive()

    assert left == 2
    assert (sqs.waiting(), Event.objects.count()) == (0, 2)


def test_message_stored_but_not_deleted_is_not_stored_again(sqs, brand, customer):
    sqs.send(order(brand, customer))
    message = queue.client().receive_message(QueueUrl=sqs.url)["Messages"][0]
    queue.store_message(message)  # then the process dies before the delete

    receive()

    assert (sqs.waiting(), Event.objects.count()) == (0, 1)


def test_event_from_the_queue_earns_points(sqs, brand, customer, deliver_events):
    code = factories.code(brand)
    payload = {"type": "authenticator_scan", "product": {"authCode": code.code}}
    arguments = {"brand_id": brand.pk, "user_id": customer.pk}
    event = order(brand, customer, **{"detail-type": "scan-auth"})
    event["detail"] = {"arguments": arguments, "payload": payload}
    sqs.send(event)

    receive()
    deliver_events()

    assert factories.account(customer, brand).points == 10


def test_command_names_missing_settings(settings):
    settings.SQS_QUEUE_URL = ""

    with pytest.raises(CommandError, match="SQS_QUEUE_URL and SQS_BRANDS"):
        receive()
