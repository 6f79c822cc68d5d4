"""What operators see of real processes: scans in the metrics of web and worker, and a request's id in both logs."""

import json

import httpx
import pytest
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

from brands.identity import tokens
from tests.support import factories
from tests.support.live_stack import Stack, free_port, wait_until

TOKEN = "o" * 40


@pytest.fixture
def monitored_stack(transactional_db, settings, tmp_path):
    running = Stack(log=tmp_path / "log", redis_url=settings.REDIS_URL)
    running.settings = {
        "METRICS_TOKEN": TOKEN,
        "METRICS_DIR": str(tmp_path / "metrics"),
        "METRICS_WORKER_ADDRESS": f"127.0.0.1:{free_port()}",
        "LOG_ACTIVITY": "1",
        "LOG_FORMAT": "json",
    }
    running.start_web()
    running.start_worker()
    yield running
    running.stop()


def metrics_of(address):
    answer = httpx.get(f"http://{address}/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def log_records(stack):
    json_lines = [line for line in stack.log.read_text().splitlines() if line.startswith("{")]
    return [json.loads(line) for line in json_lines]


def test_scans_are_in_metrics_and_logs_of_web_and_worker(brand, monitored_stack):
    customer, codes = factories.customer(brand), [factories.code(brand) for _ in range(8)]
    worker = monitored_stack.settings["METRICS_WORKER_ADDRESS"]
    access = tokens.issue(user=customer, brand=brand, at=timezone.now()).access

    answers = [  # over both web processes
        httpx.post(
            f"{monitored_stack.url}/api/v1/verify/product/{code}",
            json={},
            headers={"authorization": f"Bearer {access}"},
        ).raise_for_status()
        for code in codes
    ]
    wait_until(lambda: metrics_of(worker).get(("loyalty_accrual_seconds_count", "scan-auth")) == len(codes))

    web_metrics = metrics_of(monitored_stack.url.removeprefix("http://"))
    assert web_metrics["loyalty_scans_total", "success", "accepted"] == len(codes)
    assert web_metrics["loyalty_accrual_seconds_count", "scan-auth"] == len(
        codes
    )  # a host's processes share a directory, and their counts add up
    assert web_metrics["loyalty_state_read", "database"] == web_metrics["loyalty_state_read", "broker"] == 1
    assert httpx.get(f"http://{worker}/metrics").status_code == 404
    request_id = answers[3].headers["X-Request-ID"]
    messages = [
        (line["logger"], line["message"])
        for line in log_records(monitored_stack)
        if line.get("request_id") == request_id
    ]
    assert sorted(messages) == [  # a worker may be done before the answer is
        ("activity", "POST api/v1/verify/product/<scanned:auth_code>"),
        ("activity", "event scan-auth: done"),
    ]
