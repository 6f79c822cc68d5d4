"""The generated TypeScript client is fully typed, and takes a customer from a scan to points."""

import json
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from django.utils import timezone

from core.http import webhook_signatures
from tests.support import factories
from tests.support.factories import PASSWORD
from tests.support.fakes import typescript

PROGRAMS = Path(__file__).parent / "typescript"
pytestmark = pytest.mark.skipif(not shutil.which("npm"), reason="Node.js with npm is not installed")


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return typescript.project(tmp_path_factory.mktemp("typescript"))


def compile_program(project, name):
    """The compiler's result for one of the programs."""
    for other in project.glob("*.ts"):
        other.unlink()
    shutil.copy(PROGRAMS / f"{name}.ts", project)
    return typescript.compile_project(project)


def test_client_takes_a_customer_from_a_scan_to_points(project, stack, brand):
    customer, code = factories.customer(brand, password=PASSWORD), factories.code(brand)
    built = compile_program(project, "scan")
    assert built.returncode == 0, built.stdout

    arguments = [stack.url, customer.email, PASSWORD, str(brand.pk), code.code]
    result = typescript.run_program(project, "scan", *arguments, directory=project)

    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == {"status": "success", "awarded": 10, "points": 10, "error": "AUTH_CODE_INVALID"}


def test_client_does_not_compile_with_calls_missing_in_the_description(project):
    built = compile_program(project, "misuses")

    assert built.returncode != 0
    assert "/api/v1/nothing" in built.stdout
    assert "'nothing' does not exist" in built.stdout


def test_receiver_verifies_the_sender_of_a_webhook(project):
    secret, now = webhook_signatures.new_secret(), timezone.now()
    body = json.dumps({"type": "webhook.test", "timestamp": "2026-11-20T10:00:00.000Z", "data": {}}).encode()
    built = compile_program(project, "receiver")
    assert built.returncode == 0, built.stdout

    def answer(at=now, signing_secret=secret, content=body):
        headers = webhook_signatures.signed_headers(
            message_id="msg_1", at=at, body=body, secrets_in_use=[signing_secret]
        )
        return httpx.post(f"http://127.0.0.1:{port}", content=content, headers=headers)

    with subprocess.Popen(["node", project / "out/receiver.js", secret], stdout=subprocess.PIPE, text=True) as receiver:
        try:
            port = int(receiver.stdout.readline())
            assert (answer().status_code, answer().json()) == (200, json.loads(body))
            assert answer(signing_secret=webhook_signatures.new_secret()).status_code == 401
            assert answer(content=body.replace(b"test", b"text")).status_code == 401
            assert answer(at=now - timedelta(minutes=6)).status_code == 401
        finally:
            receiver.kill()
