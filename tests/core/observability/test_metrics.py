"""/metrics: hidden unless allowed, right over several processes, and about what an operator has to know."""

import os
import subprocess
import sys
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families

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
# Counts for the first time in several threads at once.
COUNTING_AT_ONCE = """
import django
django.setup()
from core.observability import metrics
from tests.support.concurrency import at_once
found = at_once(lambda _: metrics.instruments(), range(4))
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


def read(name, **labels):
    answer = scrape(Authorization=f"Bearer {TOKEN}")
    assert answer.status_code == 200
    # Reading one line takes 0.2 ms, and there are thousands.
    of_this_name = [line for line in answer.content.decode().splitlines() if line.startswith(name)]
    return samples("\n".join([*of_this_name, ""])).get((name, frozenset(labels.items())), 0)


def test_without_a_setting_there_is_nothing():

    assert scrape().status_code == scrape(Authorization="Bearer ").status_code == 404


@pytest.mark.parametrize("sent", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer é"])
def test_a_wrong_token_finds_nothing(open_metrics, sent):
    assert scrape(Authorization=sent).status_code == 404


def test_the_token_opens_it(db, open_metrics):
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
        ("10.1.2.3", "10.9.9.9", 0, 404),  # through a proxy nobody told us of
        ("10.1.2.3", "93.184.216.34", 1, 404),
        ("10.1.2.3", "93.184.216.34, 10.4.4.4", 1, 200),
    ],
)
def test_networks_open_it_to_who_really_calls_from_there(db, settings, address, forwarded, proxies, status):
    settings.METRICS_NETWORKS = ["10.0.0.0/8"]
    settings.TRUSTED_PROXIES = proxies
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}

    assert Client(REMOTE_ADDR=address).get("/metrics", headers=headers).status_code == status


def test_probes_need_no_hostname(db, open_metrics, settings):
    settings.ALLOWED_HOSTS = ["portal.example.com"]

    for address in ("/healthz", "/readyz", "/metrics"):
        answer = Client().get(address, headers={"Host": "10.0.0.7:8000", "Authorization": f"Bearer {TOKEN}"})
        assert answer.status_code == 200, address
    assert Client().get("/api/docs", headers={"Host": "10.0.0.7:8000"}).status_code == 400


def test_requests_are_counted_by_address_and_class_of_status(api, open_metrics, brand, customer):
    view = "api/v1/verify/product/<scanned:auth_code>"
    good = {"view": view, "method": "POST", "status": "2xx"}
    bad = {**good, "status": "4xx"}
    before = read("loyalty_request_seconds_count", **good), read("loyalty_request_seconds_count", **bad)

    api.as_customer(customer).verify(factories.code(brand))
    api.as_customer(customer).verify("NOBODYS")

    after = read("loyalty_request_seconds_count", **good), read("loyalty_request_seconds_count", **bad)
    assert (after[0] - before[0], after[1] - before[1]) == (1, 1)


def test_what_is_asked_for_cannot_make_new_series(open_metrics, db):
    for number in range(3):
        Client().generic(f"VERB{number}", f"/nowhere/{number}")

    assert read("loyalty_request_seconds_count", view="(none)", method="other", status="4xx") >= 3
    assert read("loyalty_request_seconds_count", view="/nowhere/1", method="VERB1", status="4xx") == 0


def test_scans_accruals_and_deliveries_are_counted(api, open_metrics, brand, customer, deliver):
    def now():
        return (
            read("loyalty_scans_total", outcome="success", reason="accepted"),
            read("loyalty_scans_total", outcome="error", reason="unknown"),
            read("loyalty_accrual_seconds_count", kind="scan-auth"),
            read("loyalty_accrual_seconds_bucket", kind="scan-auth", le="5.0"),
            read("loyalty_event_attempts_total", kind="scan-auth", result="done"),
        )

    before = now()
    api.as_customer(customer).verify(factories.code(brand))
    api.as_customer(customer).verify("NOBODYS")
    deliver()

    assert [after - then for after, then in zip(now(), before, strict=True)] == [1, 1, 1, 1, 1]


def waiting_event(brand, *, seconds, **fields):
    made = timezone.now() - timedelta(seconds=seconds)
    return Event.objects.create(
        brand=brand,
        source="test",
        detail={},
        **{"detail_type": "scan-auth", "due_at": made, "created_at": made, **fields},
    )


def test_what_waits_is_told_by_kind_and_age(brand, open_metrics):
    waiting_event(brand, seconds=120)
    waiting_event(brand, seconds=3600, due_at=timezone.now() + timedelta(hours=1), detail_type="order-complete")
    waiting_event(brand, seconds=9, status="dead")
    waiting_event(brand, seconds=9999, status="done")

    assert read("loyalty_events_pending", lane="points", kind="scan-auth") == 1
    assert read("loyalty_events_pending", lane="points", kind="order-complete") == 1
    assert read("loyalty_events_dead", kind="scan-auth") == 1
    assert 3600 <= read("loyalty_oldest_event_seconds", lane="points") < 3660
    assert 120 <= read("loyalty_overdue_event_seconds", lane="points") < 180


def test_states_of_jobs_are_told(brand, open_metrics):
    Job.objects.create(brand=brand, kind="generate", title="a", status="failed")
    Job.objects.create(
        brand=brand, kind="generate", title="b", status="running", alive_at=timezone.now() - timedelta(minutes=2)
    )

    assert read("loyalty_jobs", kind="generate", status="failed") == 1
    assert 120 <= read("loyalty_job_silence_seconds") < 180


def test_passes_that_nobody_was_told_of_are_told_by_platform(brand, customer, open_metrics):
    facts = {
        "brand": brand,
        "account": factories.account(customer, brand),
        "state": "held",
        "version": 3,
        "current_version": 2,
    }
    changed = timezone.now() - timedelta(hours=2)
    WalletPass.objects.create(**facts, platform="apple", pushed_version=2, changed_at=changed)
    WalletPass.objects.create(**facts, platform="google", pushed_version=3, changed_at=changed)

    assert (read("loyalty_wallet_unpushed", platform="apple"), read("loyalty_wallet_unpushed", platform="google")) == (
        1,
        0,
    )
    assert read("loyalty_wallet_behind", platform="apple") == read("loyalty_wallet_behind", platform="google") == 1
    assert 7200 <= read("loyalty_wallet_unpushed_seconds", platform="apple") < 7300
    assert read("loyalty_wallet_unpushed_seconds", platform="google") == 0


def test_waiting_messages_are_told_by_queue(db, open_metrics):
    text = scrape(Authorization=f"Bearer {TOKEN}").content.decode()

    queues = {dict(labels)["queue"] for name, labels in samples(text) if name == "loyalty_queue_messages"}
    assert {"work", "events"} <= queues


def test_a_part_that_does_not_answer_takes_only_its_own_figures_along(db, open_metrics, monkeypatch, tmp_path):
    from config import celery

    monkeypatch.setattr(celery.app.conf, "broker_read_url", f"redis+socket://{tmp_path}/nobody")

    text = scrape(Authorization=f"Bearer {TOKEN}").content.decode()

    assert samples(text)["loyalty_state_read", frozenset({("part", "broker")})] == 0
    assert samples(text)["loyalty_state_read", frozenset({("part", "database")})] == 1
    assert "loyalty_oldest_event_seconds" in text


def test_a_slot_is_one_process_at_a_time_and_free_when_it_ends(tmp_path):
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


def counted(directory, script=COUNTING, **environment):
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


def test_threads_that_count_first_share_one_slot(tmp_path):
    counted(tmp_path, COUNTING_AT_ONCE)

    assert len(list(tmp_path.glob("slot_*.lock"))) == 1


def test_processes_add_up_and_what_was_counted_stays(tmp_path, settings):
    settings.METRICS_DIR = tmp_path

    def total():
        return sum(sample.value for family in metrics.collected() for sample in family.samples)

    counted(tmp_path, CHILDREN="1")  # four processes after two forks
    first = total()
    counted(tmp_path)  # in the slot of one that has ended
    files = list(tmp_path.glob("counter_*.db"))

    assert (first, total()) == (1 + 4 * 10, 1 + 4 * 10 + 11)
    assert len(files) <= 5


def test_a_directory_that_cannot_be_used_costs_the_counts_and_no_request(tmp_path):
    (tmp_path / "file").write_text("")

    counted(tmp_path / "file" / "below")
