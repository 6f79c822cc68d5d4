"""Exports of a customer's data that race with other exports or an erasure, and the memory of a large one."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from django.db import connection, transaction
from django.utils import timezone

from authcodes import data_exports
from authcodes.tasks import purge_files
from brands.audit_log import AuditContext
from brands.identity import users
from brands.models.people import User
from core.errors import TokenInvalid
from jobs import erasure as job_erasure
from jobs import runner
from jobs.models import Job
from loyalty.members import erasure
from tests.support import factories
from tests.support.concurrency import result_or_error, run_during_transaction, start_until_blocked
from tests.support.live_stack import ROOT, database_url

pytestmark = pytest.mark.django_db(transaction=True)
ROWS = 200_000
# Runs in a separate process, whose peak memory is reset before the job runs.
MEASURE = """
import sys
from pathlib import Path
import django
django.setup()
from jobs import runner
def memory(what):
    return int(Path("/proc/self/status").read_text().split(what + ":")[1].split()[0]) // 1024
Path("/proc/self/clear_refs").write_text("5")
before = memory("VmRSS")
runner.run(int(sys.argv[1]))
print(memory("VmHWM") - before)
"""
erasures = []


@pytest.fixture(autouse=True)
def media(settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    erasures.clear()


def start(brand, customer):
    with transaction.atomic():
        return data_exports.start(brand=brand, customer=customer, by=None, at=timezone.now())


def start_as_in_a_request(brand, customer):
    with transaction.atomic():
        users.lock_user(user_id=customer.pk)
        return data_exports.start(brand=brand, customer=customer, by=None, at=timezone.now())


def erase_customer(customer, brand):
    return erasure.erase(user_id=customer.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now()))


@contextmanager
def without_constraint():
    with connection.as_owner(), connection.cursor() as cursor:
        cursor.execute("SELECT indexdef FROM pg_indexes WHERE indexname = 'job_of_customer_once'")
        [definition] = cursor.fetchone()
        cursor.execute("DROP INDEX job_of_customer_once")
    yield
    Job.objects.all().delete()
    with connection.as_owner(), connection.cursor() as cursor:
        cursor.execute(definition)


def start_twice_concurrently(brand, customer):
    started = []
    second = run_during_transaction(lambda: started.append(start(brand, customer)), lambda: start(brand, customer))
    return started[0], second


def test_concurrent_requests_of_a_customer_share_one_export(brand, customer):
    first, second = start_twice_concurrently(brand, customer)

    assert first == second == Job.objects.get()


def test_control_without_the_constraint_there_are_two_exports(brand, customer):
    with without_constraint():
        first, second = start_twice_concurrently(brand, customer)

        assert first != second


def test_request_during_the_erasure_starts_no_export(brand, customer):
    outcome = run_during_transaction(
        lambda: erase_customer(customer, brand), lambda: start_as_in_a_request(brand, customer)
    )

    assert isinstance(outcome, TokenInvalid)
    assert not Job.objects.exists()


def test_control_without_the_lock_an_export_starts_after_the_erasure(brand, customer, monkeypatch):
    monkeypatch.setattr(users, "lock_user", lambda *, user_id: User.objects.get(pk=user_id))

    outcome = run_during_transaction(
        lambda: erase_customer(customer, brand), lambda: start_as_in_a_request(brand, customer)
    )

    assert outcome == Job.objects.get()


def export(user_id, brand_id):
    """The export of a topic of settings.PERSONAL_DATA, during which the customer is erased."""
    brand = erasures.pop()
    yield {"before": True}
    with ThreadPoolExecutor(1) as pool:
        result_or_error(start_until_blocked(pool, lambda: erase_customer(User.objects.get(pk=user_id), brand)))
    yield {"after": True}


def erase(*_scope, **_options):
    """The topic has no data to erase."""


def run_export_during_erasure(brand, customer, settings):
    settings.PERSONAL_DATA = {**settings.PERSONAL_DATA, "slow": __name__}
    job = start(brand, customer)
    erasures.append(brand)
    runner.run(job.pk)
    job.refresh_from_db()
    return job


@pytest.mark.parametrize("stays_elsewhere", [True, False])
def test_running_export_is_cancelled_when_its_customer_is_erased(brand, customer, settings, stays_elsewhere):
    if stays_elsewhere:
        factories.accounts.enrol(user_id=customer.pk, brand_id=factories.brand().pk, at=timezone.now())

    job = run_export_during_erasure(brand, customer, settings)

    assert (job.status, job.result.name) == ("cancelled", "")
    assert not list(settings.MEDIA_ROOT.rglob("*.json"))


def test_control_without_erasing_jobs_the_export_survives_the_erasure(brand, customer, settings, monkeypatch):
    monkeypatch.setattr(job_erasure, "erase_user", lambda **_options: None)

    job = run_export_during_erasure(brand, customer, settings)
    purge_files()

    assert job.status == "done"
    assert customer.email in next(settings.MEDIA_ROOT.rglob("*.json")).read_text()


def insert_transactions(brand, customer):
    factories.points(customer, brand, 1)
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO loyalty_transaction
                   (brand_id, user_point_id, points_earned, points_redeemed, points_expired, reason, reason_id, note,
                    "createdAt", "updatedAt")
            SELECT brand_id, user_point_id, 1, 0, 0, 'earned', 'x:' || n, repeat('y', 100), now(), now()
              FROM user_points, generate_series(1, %s) n WHERE user_id = %s
            """,
            [ROWS, customer.pk],
        )


def test_export_of_200_000_rows_needs_little_memory(brand, customer, settings, tmp_path):
    """When the data were sent in the answer of the request itself, 54 MB with four calls took 1.3 GB."""
    insert_transactions(brand, customer)
    job = start(brand, customer)
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "DATABASE_URL": database_url(),
        "SECRET_KEY": settings.SECRET_KEY,
        "DATA_DIR": str(tmp_path),
    }

    completed = subprocess.run(
        [sys.executable, "-c", MEASURE, str(job.pk)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    job.refresh_from_db()
    assert job.status == "done", completed.stderr + job.log
    assert job.result_bytes > 40_000_000
    assert int(completed.stdout) < 60, completed.stdout  # MB
