"""The generated Python client is fully typed, and takes a customer from a scan to points."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from django.utils import timezone

from core.http import webhook_signatures
from tests.support import factories
from tests.support.factories import PASSWORD

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """A directory with the package, made as `bin/docs client` makes it."""
    directory = tmp_path_factory.mktemp("client")
    sys.path.append(str(ROOT / "bin"))
    published = importlib.import_module("published.client")
    published.generate(directory)
    return directory


@pytest.fixture
def client(generated, monkeypatch):
    """Imports a module of the package. The package is unloaded at the end."""
    monkeypatch.syspath_prepend(str(generated))
    yield lambda name: importlib.import_module(f"loyalty_client{name}")
    for name in [name for name in sys.modules if name.partition(".")[0] == "loyalty_client"]:
        del sys.modules[name]


def test_client_has_a_call_for_every_operation_and_is_typed(generated):
    calls = {path.stem for path in generated.glob("loyalty_client/api/*/*.py")} - {"__init__"}
    type_check = [sys.executable, "-m", "mypy", "--strict", "--config-file", "/dev/null", "--cache-dir", "/dev/null"]

    result = subprocess.run([*type_check, "loyalty_client"], cwd=generated, check=False, capture_output=True, text=True)

    assert {"log_in", "verify_product", "read_points", "credit_action", "redeem_reward"} <= calls
    assert result.returncode == 0, result.stdout


def test_client_takes_a_customer_from_a_scan_to_points(client, stack, brand, wait_for_events):
    customer, code = factories.customer(brand, password=PASSWORD), factories.code(brand)
    models = client(".models")
    guest = client("").Client(base_url=stack.url)

    tokens = client(".api.tokens.log_in").sync(
        client=guest, body=models.LoginInput(email=customer.email, password=PASSWORD, brand_id=brand.pk)
    )
    customer_client = client("").AuthenticatedClient(base_url=stack.url, token=tokens.access)
    verify = client(".api.scanning.verify_product")
    scan = verify.sync(code.code, client=customer_client, body=models.LocationInput(latitude=48.85, longitude=2.35))
    wait_for_events()
    points = client(".api.account.read_points").sync(client=customer_client)
    state = client(".api.scanning.read_scan").sync(scan.scan_id, client=customer_client)

    assert (scan.status.value, scan.points_awarded) == ("success", 10)
    assert (points.data.points, state.points_status.value) == (10, "awarded")


def test_client_returns_errors_as_typed_answers(client, stack, make_customer):
    customer = make_customer()
    customer_client = client("").AuthenticatedClient(
        base_url=stack.url, token=customer.headers()["authorization"].split()[1]
    )

    answer = client(".api.scanning.verify_product").sync_detailed("NOBODYS-CODE", client=customer_client)

    assert (answer.status_code, answer.parsed.error) == (400, "AUTH_CODE_INVALID")
    assert answer.parsed.support_email == customer.brand.support_email


def test_receiver_verifies_the_sender_of_a_webhook_and_returns_a_typed_event(client):
    webhooks, now = client(".webhooks"), timezone.now()
    secret, other = webhook_signatures.new_secret(), webhook_signatures.new_secret()
    message = {
        "type": "member.changed",
        "timestamp": "2026-11-20T10:00:00.000Z",
        "data": {"user_id": 42, "changed": []},
    }

    def receive_message(signing_secret=secret, content=message):
        body = json.dumps(content).encode()
        headers = webhook_signatures.signed_headers(
            message_id="msg_1", at=now, body=body, secrets_in_use=[signing_secret]
        )
        return webhooks.receive(secret, body, {name.title(): value for name, value in headers.items()})

    assert isinstance(receive_message(), client(".models").MemberChangedEvent)
    assert (receive_message().data.user_id, receive_message().timestamp.year) == (42, 2026)
    with pytest.raises(webhooks.WebhookVerificationError):
        receive_message(signing_secret=other)
    with pytest.raises(webhooks.UnknownWebhook, match=r"moon\.landed"):
        receive_message(content=message | {"type": "moon.landed"})
