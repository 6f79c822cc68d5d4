"""Reads of a brand's keys, customers and jobs run under the row guard of the database."""

from contextlib import contextmanager
from dataclasses import replace

import pytest
from django.db import connection
from django.utils import timezone

from authcodes import data_exports
from authcodes.api.codes import BrandReader
from authcodes.models.codes import AuthCode
from core.db import row_guard
from jobs import kinds, queue, runner
from tests.support import factories

pytestmark = pytest.mark.django_db
AUTHENTICATION_TABLES = ("brands_user", "brands_apikey", "brands_staffrole")  # they identify the caller
BRAND_WIDE = ("loyalty_walletissuer", "staff_login_invitation")  # guard.brand_wide says why
READS = [
    "customer/loyalty/points",
    "customer/loyalty/transactions",
    "customer/loyalty/campaigns",
    "customer/loyalty/rewards",
    "customer/loyalty/redemptions",
    "customer/wallet",
    "customer/profile",
]


@contextmanager
def recorded_scopes():
    """Yields a list of (scope, SQL) of each statement in the block."""
    statements = []

    def record(execute, sql, *options):
        statements.append((row_guard.current(), sql))
        return execute(sql, *options)

    with connection.execute_wrapper(record):
        yield statements


@pytest.mark.parametrize("path", READS)
def test_customer_reads_under_the_row_guard_of_the_tokens_brand(api, brand, path):
    elsewhere = factories.brand()
    customer = factories.customer(elsewhere)
    factories.points(customer, elsewhere, 7)
    caller = api.as_customer(customer)
    with recorded_scopes() as statements:
        answer = caller.get(path)

    assert answer.status_code == 200, answer.content
    customer_scope = row_guard.scope_of_customer(brand.pk, customer.pk)
    brand_scope = row_guard.scope_of([brand.pk], customer.pk)
    assert {scope for scope, _sql in statements} <= {customer_scope, brand_scope, None}
    for scope, statement in statements:
        assert scope != brand_scope or any(table in statement for table in BRAND_WIDE), statement
    assert {customer_scope, brand_scope} & {scope for scope, _sql in statements}
    assert all(any(table in sql for table in AUTHENTICATION_TABLES) for scope, sql in statements if scope is None)


@pytest.mark.parametrize("path", ["auth-codes/{code}/scans", "batch-ranges/{batch}/qr-codes"])
class TestMissingBrandCheck:
    """The view's check of the brand is missing: it lets the key read every brand's rows."""

    @pytest.fixture(autouse=True)
    def without_brand_check(self, monkeypatch):
        monkeypatch.setattr(BrandReader, "may_read", lambda *_: True)

    def status_of(self, api, path):
        code = factories.code(factories.brand())
        return api.hub().get(path.format(code=code.code, batch=code.batch_id)).status_code

    def test_key_reads_no_row_of_another_brand(self, api, path):
        assert self.status_of(api, path) == 404

    def test_control_without_the_row_guard_it_would(self, api, path, monkeypatch):
        connection.ensure_connection()
        connection.assume()
        monkeypatch.setitem(connection.settings_dict, "GUARD", False)

        assert self.status_of(api, path) == 200


def test_export_of_a_customer_runs_under_the_row_guard_of_the_brand(brand, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    customer = factories.customer(brand)
    job = data_exports.start(brand=brand, customer=customer, by=None, at=timezone.now())
    with recorded_scopes() as statements:
        runner.run(job.pk)

    tables = ("loyalty_transaction", "authcodes_scan", "loyalty_notificationdelivery", "loyalty_webhookdelivery")
    scopes = {(table, scope) for scope, sql in statements for table in tables if f'FROM "{table}"' in sql}
    assert scopes == {(table, row_guard.scope_of([brand.pk], customer.pk)) for table in tables}


def test_job_sees_only_the_rows_of_its_brand(brand, settings, monkeypatch):
    factories.code(brand)
    factories.code(factories.brand())
    counts = []
    counting_kind = replace(kinds.declared()["generate"], run=lambda _run: counts.append(AuthCode.objects.count()))
    monkeypatch.setitem(kinds.declared(), "generate", counting_kind)
    job = queue.start(brand=brand, kind="generate", title="x", parameters={}, by=None)

    runner.run(job.pk)

    assert counts == [1]
    assert AuthCode.objects.count() == 2
