"""Journeys over two hosts: work that begins on one continues on the other, and no file is on a host's own disk."""

from contextlib import contextmanager

import httpx
import pytest
from django.conf import settings
from django.test import Client
from django.utils import timezone

from brands.identity import tokens
from events.models import Event
from jobs.models import Job
from loyalty.models.ledger import LoyaltyTransaction
from tests.support import factories
from tests.support.live_stack import wait_until
from tests.support.portal import staff

pytestmark = pytest.mark.django_db(transaction=True)

POINTS = "/api/v1/customer/loyalty/points"


@pytest.fixture
def brand():
    made = factories.brand()
    factories.level(made)
    return made


@pytest.fixture
def bearer(brand):
    customer = factories.customer(brand)
    access = tokens.issue(user=customer, brand=brand, at=timezone.now()).access
    return {"authorization": f"Bearer {access}"}


def scan(host, code, bearer):
    answer = httpx.post(f"{host.url}/api/v1/verify/product/{code}", json={}, headers=bearer, timeout=20)
    assert answer.status_code == 200, answer.text
    return answer.json()


def points(host, bearer):
    return httpx.get(host.url + POINTS, headers=bearer, timeout=20).json()["data"]["points"]


def wait_for_events():
    wait_until(lambda: not Event.objects.pending().exists())


@contextmanager
def portal(user):
    """An HTTP client for the portal on any host, logged in as the user."""
    client = Client()
    client.force_login(user)
    cookies = {settings.SESSION_COOKIE_NAME: client.cookies[settings.SESSION_COOKIE_NAME].value}
    with httpx.Client(cookies=cookies, timeout=20, follow_redirects=True) as http:
        yield http


def submit(http, address, **fields):
    """Post a form as its page shows it."""
    page = http.get(address)
    assert page.status_code == 200, page.text
    token = page.text.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
    return http.post(address, data={"csrfmiddlewaretoken": token, **fields}, headers={"Referer": address})


def export_scans(http, host, brand):
    """Start an export of the scans on `host`; returns its job once it has ended."""
    answer = submit(http, f"{host.url}/admin/authcodes/scan/export/", brand=str(brand.pk), format="csv")
    assert answer.status_code == 200
    job = Job.objects.latest("id")
    wait_until(lambda: Job.objects.filter(pk=job.pk, finished_at__isnull=False).exists())
    job.refresh_from_db()
    assert job.status == "done", job.log
    return job


def replica_reads(replica):
    """How often tables of scans and codes were read on the replica."""
    tables = "('authcodes_scan', 'authcodes_authcode')"
    return replica.query(
        f"SELECT coalesce(sum(seq_scan + coalesce(idx_scan, 0)), 0) FROM pg_stat_user_tables WHERE relname IN {tables}"
    )


def test_scan_on_one_host_is_credited_on_both(brand, bearer, hosts):
    one, two = hosts
    codes = [factories.code(brand) for _ in range(6)]

    for number, code in enumerate(codes):
        scan(hosts[number % 2], code, bearer)
    wait_for_events()

    assert points(one, bearer) == points(two, bearer) == 60
    assert LoyaltyTransaction.objects.count() == 6


def test_export_of_one_host_is_downloaded_from_the_other(brand, bearer, hosts, bucket):
    one, two = hosts
    code = factories.code(brand)
    scan(one, code, bearer)
    wait_for_events()

    with portal(staff(brand)) as http:
        job = export_scans(http, two, brand)
        file = http.get(f"{one.url}/admin/jobs/job/{job.pk}/download/")

    assert file.status_code == 200
    assert code.code in file.text
    assert job.result.name in bucket.names()
    assert one.files() == two.files() == []


def test_uploaded_list_is_stored_in_the_bucket_and_checked_by_either_worker(brand, hosts, bucket):
    one, two = hosts
    code = factories.code(brand)
    before = bucket.names()
    fields = {"brand": str(brand.pk), "kind": "list", "product": str(code.product_id or code.batch.product_id)}

    with portal(staff(brand)) as http:
        address = f"{one.url}/admin/authcodes/import/add/"
        page = http.get(address).text
        token = page.partition('name="csrfmiddlewaretoken" value="')[2].partition('"')[0]
        text = f"auth_code,inventory_location,notes\n{code.code},A1,x\n"
        answer = http.post(
            address,
            data={"csrfmiddlewaretoken": token, **fields},
            files={"file": ("list.csv", text, "text/csv")},
            headers={"Referer": address},
        )
        job = Job.objects.latest("id")
        wait_until(lambda: Job.objects.filter(pk=job.pk, status="done").exists())

    assert answer.status_code == 200
    assert any(name.startswith("imports/") for name in bucket.names() - before)
    assert one.files() == two.files() == []


def test_other_host_takes_over_when_a_worker_dies(brand, bearer, hosts):
    _one, two = hosts
    worker = two.processes[1]
    two.kill(worker)

    scan(two, factories.code(brand), bearer)
    wait_for_events()
    two.start_worker(concurrency=1, beat=False, name="1@%h")

    assert points(two, bearer) == 10


def test_dashboard_and_exports_are_read_from_the_replica(brand, bearer, hosts, replica):
    one, two = hosts
    scan(one, factories.code(brand), bearer)
    wait_for_events()
    before = replica_reads(replica)

    with portal(staff(brand)) as http:
        page = http.get(f"{two.url}/admin/")
        after_the_page = wait_until(lambda: (now := replica_reads(replica)) > before and now)
        export_scans(http, one, brand)

    assert page.status_code == 200
    wait_until(lambda: replica_reads(replica) > after_the_page)


def test_exports_are_current_although_the_replica_lags_behind(brand, bearer, hosts, replica):
    one, two = hosts
    replica.query("SELECT pg_wal_replay_pause()::text")
    try:
        code = factories.code(brand)
        scan(one, code, bearer)
        wait_for_events()
        with portal(staff(brand)) as http:
            page = http.get(f"{two.url}/admin/")
            job = export_scans(http, two, brand)
            file = http.get(f"{two.url}/admin/jobs/job/{job.pk}/download/").text
    finally:
        replica.query("SELECT pg_wal_replay_resume()::text")

    assert page.status_code == 200
    assert code.code in file


def test_pool_serves_more_connections_than_it_has_sessions(brand, bearer, hosts, bouncer):
    for host in hosts:
        for _ in range(3):
            scan(host, factories.code(brand), bearer)
    wait_for_events()

    pools = [row for row in bouncer.query("SHOW POOLS") if row[0].startswith("test_")]
    servers = sum(len([row for row in bouncer.query("SHOW SERVERS") if row[2] == pool[0]]) for pool in pools)
    clients = len([row for row in bouncer.query("SHOW CLIENTS") if row[2].startswith("test_")])
    assert 0 < servers <= bouncer.POOL
    assert clients >= 4
    assert all(row[-1] == "transaction" for row in pools)


def test_each_host_reports_its_own_counts_and_the_shared_state(brand, bearer, hosts):
    token = {"Authorization": f"Bearer {'m' * 40}"}

    def metrics_of(host):
        text = httpx.get(f"{host.url}/metrics", headers=token, timeout=20).text
        lines = [line for line in text.splitlines() if not line.startswith("#")]
        counted = [
            float(line.split()[-1]) for line in lines if line.startswith('loyalty_scans_total{outcome="success"')
        ]
        return sum(counted), [line for line in lines if line.startswith("loyalty_events_dead")]

    before = [metrics_of(host) for host in hosts]
    scan(hosts[0], factories.code(brand), bearer)
    after = [metrics_of(host) for host in hosts]

    assert [now[0] - then[0] for now, then in zip(after, before, strict=True)] == [1, 0]
    assert after[0][1] == after[1][1]


def test_rabbitmq_stores_the_messages_in_quorum_queues(hosts, request):
    if "CELERY_BROKER_URL" not in hosts[0].settings:
        pytest.skip("the broker of this turn is Redis")

    queues = request.getfixturevalue("rabbit").queues()

    assert {queues[name] for name in ("events", "work", "outgoing")} == {"quorum"}
