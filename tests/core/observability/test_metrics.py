"""/metrics: hidden unless allowed, correct over several processes, and with what an operator has to know."""

import os
import subprocess
import sys
from datetime import timedelta

import pytest
from amqp.exceptions import AccessRefused
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from redis.exceptions import ConnectionError as RedisConnectionError

from core.observability import metrics
from core.observability.metrics import Slot
from events.models import Event
from jobs.models import Job
from loyalty.models.wallets import WalletPass
from tests.support import factories

TOKEN = "t" * 40
# Counts in two processes after a fork, as Celery's children do, and in the parent.
COUNTING = """
import os, django
django.setup()
from core.observability import metrics
metrics.scanned(outcome="success", reason="accepted")
children = [os.fork() for _ in range(2)] if os.environ.get("CHILDREN") else []
for _ in range(10):
    metrics.scanned(outcome="success", reason="accepted")
"""
# Counts for the first time, in several threads at the same time.
COUNTING_IN_THREADS = """
import django
django.setup()
from core.observability import metrics
from tests.support.concurrency import run_concurrently
found = run_concurrently(lambda _: metrics.instruments(), range(4))
assert all(each is found[0] for each in found), found
"""


def scrape(**headers):
    return Client().get("/metrics", headers=headers)


@pytest.fixture
def open_metrics(settings):
    settings.METRICS_TOKEN = TOKEN


def samples(text):
    """{(name, labels as a frozenset of pairs): value}"""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def sample_value(name, **labels):
    answer = scrape(Authorization=f"Bearer {TOKEN}")
    assert answer.status_code == 200
    # Reading one line takes 0.2 ms, and there are thousands.
    lines_of_metric = [line for line in answer.content.decode().splitlines() if line.startswith(name)]
    return samples("\n".join([*lines_of_metric, ""])).get((name, frozenset(labels.items())), 0)


def test_metrics_are_not_found_without_a_setting():

    assert scrape().status_code == scrape(Authorization="Bearer ").status_code == 404


@pytest.mark.parametrize("sent", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer é"])
def test_wrong_token_gets_not_found(open_metrics, sent):
    assert scrape(Authorization=sent).status_code == 404


def test_right_token_gets_the_metrics(db, open_metrics):
    answer = scrape(Authorization=f"Bearer {TOKEN}")

    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain")
    assert answer["Content-Security-Policy"].startswith("default-src 'none'")


@pytest.mark.parametrize(
    ("address", "forwarded", "proxies", "status"),
    [
        ("10.1.2.3", None, 0, 200),
        ("::ffff:10.1.2.3", None, 0, 200),
        ("11.1.2.3", None, 0, 404),
        ("10.1.2.3", "10.9.9.9", 0, 404),  # through a proxy that is not configured
        ("10.1.2.3", "93.184.216.34", 1, 404),
        ("10.1.2.3", "93.184.216.34, 10.4.4.4", 1, 200),
    ],
)
def test_allowed_networks_are_matched_with_the_real_client_address(db, settings, address, forwarded, proxies, status):
    settings.METRICS_NETWORKS = ["10.0.0.0/8"]
    settings.TRUSTED_PROXIES = proxies
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}

    assert Client(REMOTE_ADDR=address).get("/metrics", headers=headers).status_code == status


def test_allowed_network_may_be_one_ipv6_address(db, settings):
    settings.METRICS_NETWORKS = ["2001:db8::5/128"]

    statuses = [Client(REMOTE_ADDR=address).get("/metrics").status_code for address in ("2001:db8::5", "2001:db8::6")]
    assert statuses == [200, 404]


def test_probes_need_no_allowed_hostname(db, open_metrics, settings):
    settings.ALLOWED_HOSTS = ["portal.example.com"]

    for address in ("/healthz", "/readyz", "/metrics"):
        answer = Client().get(address, headers={"Host": "10.0.0.7:8000", "Authorization": f"Bearer {TOKEN}"})
        assert answer.status_code == 200, address
    assert Client().get("/api/docs", headers={"Host": "10.0.0.7:8000"}).status_code == 400


def test_requests_are_counted_by_route_and_status_class(api, open_metrics, brand, customer):
    view = "api/v1/verify/product/<scanned:auth_code>"
    good = {"view": view, "method": "POST", "status": "2xx"}
    bad = {**good, "status": "4xx"}
    before = sample_value("loyalty_request_seconds_count", **good), sample_value("loyalty_request_seconds_count", **bad)

    api.as_customer(customer).verify(factories.code(brand))
    api.as_customer(customer).verify("NOBODYS")

    after = sample_value("loyalty_request_seconds_count", **good), sample_value("loyalty_request_seconds_count", **bad)
    assert (after[0] - before[0], after[1] - before[1]) == (1, 1)


def test_unknown_paths_and_methods_create_no_new_series(open_metrics, db):
    for number in range(3):
        Client().generic(f"VERB{number}", f"/nowhere/{number}")

    assert sample_value("loyalty_request_seconds_count", view="(none)", method="other", status="4xx") >= 3
    assert sample_value("loyalty_request_seconds_count", view="/nowhere/1", method="VERB1", status="4xx") == 0


def test_scans_accruals_and_event_attempts_are_counted(api, open_metrics, brand, customer, deliver_events):
    def current_counts():
        return (
            sample_value("loyalty_scans_total", outcome="success", reason="accepted"),
            sample_value("loyalty_scans_total", outcome="error", reason="unknown"),
            sample_value("loyalty_accrual_seconds_count", kind="scan-auth"),
            sample_value("loyalty_accrual_seconds_bucket", kind="scan-auth", le="5.0"),
            sample_value("loyalty_event_attempts_total", kind="scan-auth", result="done"),
        )

    before = current_counts()
    api.as_customer(customer).verify(factories.code(brand))
    api.as_customer(customer).verify("NOBODYS")
    deliver_events()

    assert [after - earlier for after, earlier in zip(current_counts(), before, strict=True)] == [1, 1, 1, 1, 1]


def waiting_event(brand, *, seconds, **fields):
    created_at = timezone.now() - timedelta(seconds=seconds)
    return Event.objects.create(
        brand=brand,
        source="test",
        detail={},
        **{"detail_type": "scan-auth", "due_at": created_at, "created_at": created_at, **fields},
    )


def test_pending_events_are_reported_by_kind_and_age(brand, open_metrics):
    waiting_event(brand, seconds=120)
    waiting_event(brand, seconds=3600, due_at=timezone.now() + timedelta(hours=1), detail_type="order-complete")
    waiting_event(brand, seconds=9, status="dead")
    waiting_event(brand, seconds=9999, status="done")

    assert sample_value("loyalty_events_pending", lane="points", kind="scan-auth") == 1
    assert sample_value("loyalty_events_pending", lane="points", kind="order-complete") == 1
    assert sample_value("loyalty_events_dead", kind="scan-auth") == 1
    assert 3600 <= sample_value("loyalty_oldest_event_seconds", lane="points") < 3660
    assert 120 <= sample_value("loyalty_overdue_event_seconds", lane="points") < 180


def test_job_states_are_reported(brand, open_metrics):
    Job.objects.create(brand=brand, kind="generate", title="a", status="failed")
    Job.objects.create(
        brand=brand, kind="generate", title="b", status="running", alive_at=timezone.now() - timedelta(minutes=2)
    )

    assert sample_value("loyalty_jobs", kind="generate", status="failed") == 1
    assert 120 <= sample_value("loyalty_job_silence_seconds") < 180


def test_unpushed_wallet_passes_are_reported_by_platform(brand, customer, open_metrics):
    fields = {
        "brand": brand,
        "account": factories.account(customer, brand),
        "state": "held",
        "version": 3,
        "current_version": 2,
    }
    changed = timezone.now() - timedelta(hours=2)
    WalletPass.objects.create(**fields, platform="apple", pushed_version=2, changed_at=changed)
    WalletPass.objects.create(**fields, platform="google", pushed_version=3, changed_at=changed)

    assert (
        sample_value("loyalty_wallet_unpushed", platform="apple"),
        sample_value("loyalty_wallet_unpushed", platform="google"),
    ) == (
        1,
        0,
    )
    assert (
        sample_value("loyalty_wallet_behind", platform="apple")
        == sample_value("loyalty_wallet_behind", platform="google")
        == 1
    )
    assert 7200 <= sample_value("loyalty_wallet_unpushed_seconds", platform="apple") < 7300
    assert sample_value("loyalty_wallet_unpushed_seconds", platform="google") == 0


def test_waiting_messages_are_reported_by_queue(db, open_metrics):
    text = scrape(Authorization=f"Bearer {TOKEN}").content.decode()

    queues = {dict(labels)["queue"] for name, labels in samples(text) if name == "loyalty_queue_messages"}
    assert {"work", "events"} <= queues


@pytest.mark.parametrize("error", [RedisConnectionError("away"), AccessRefused("wrong password")])
def test_broker_that_fails_while_it_is_read_omits_only_its_own_metrics(db, open_metrics, monkeypatch, error):
    def fail(*_arguments):
        raise error

    monkeypatch.setattr("config.metrics.messages_in", fail)

    assert sample_value("loyalty_state_read", part="broker") == 0
    assert sample_value("loyalty_state_read", part="database") == 1


def test_unreachable_broker_omits_only_its_own_metrics(db, open_metrics, monkeypatch, tmp_path):
    from config import celery

    monkeypatch.setattr(celery.app.conf, "broker_read_url", f"redis+socket://{tmp_path}/nobody")

    text = scrape(Authorization=f"Bearer {TOKEN}").content.decode()

    assert samples(text)["loyalty_state_read", frozenset({("part", "broker")})] == 0
    assert samples(text)["loyalty_state_read", frozenset({("part", "database")})] == 1
    assert "loyalty_oldest_event_seconds" in text


def test_slot_belongs_to_one_process_and_is_freed_when_it_ends(tmp_path):
    script = (
        "import sys; from pathlib import Path; from core.observability.metrics import Slot;"
        "slot = Slot(Path(sys.argv[1])); print(slot(), flush=True); sys.stdin.read()"
    )

    def start():
        process = subprocess.Popen(
            [sys.executable, "-c", script, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return process, int(process.stdout.readline())

    (first, a), (second, b) = start(), start()
    with first:
        first.kill()
    third, c = start()
    for process in (second, third):
        process.communicate()

    assert (a, b, c) == (0, 1, 0)
    assert Slot(tmp_path)() == 0


def run_counting_script(directory, script=COUNTING, **environment):
    subprocess.run(
        [sys.executable, "-c", script],
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "SECRET_KEY": "s" * 50,
            "METRICS_DIR": str(directory),
            **environment,
        },
        check=True,
    )


def test_threads_that_start_counting_together_share_one_slot(tmp_path):
    run_counting_script(tmp_path, COUNTING_IN_THREADS)

    assert len(list(tmp_path.glob("slot_*.lock"))) == 1


def test_counts_add_up_over_processes_and_outlive_them(tmp_path, settings):
    settings.METRICS_DIR = tmp_path

    def total():
        return sum(sample.value for family in metrics.collected() for sample in family.samples)

    run_counting_script(tmp_path, CHILDREN="1")  # four processes after two forks
    first = total()
    run_counting_script(tmp_path)  # in the slot of a process that has ended
    files = list(tmp_path.glob("counter_*.db"))

    assert (first, total()) == (1 + 4 * 10, 1 + 4 * 10 + 11)
    assert len(files) <= 5


def test_unusable_directory_loses_the_counts_and_fails_no_call(tmp_path):
    (tmp_path / "file").write_text("")

    run_counting_script(tmp_path / "file" / "below")
