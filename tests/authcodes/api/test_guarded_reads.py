"""What a brand's keys, its customers and its jobs read runs under the database's guard."""

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
BEFORE = ("brands_user", "brands_apikey", "brands_staffrole")  # what says who asks
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
def watched():
    """Of each statement whose rows it may see."""
    seen = []

    def watch(execute, sql, *more):
        seen.append((row_guard.current(), sql))
        return execute(sql, *more)

    with connection.execute_wrapper(watch):
        yield seen


@pytest.mark.parametrize("path", READS)
def test_a_customer_reads_under_the_guard_of_the_tokens_brand(api, brand, path):
    elsewhere = factories.brand()
    customer = factories.customer(elsewhere)
    factories.points(customer, elsewhere, 7)
    caller = api.as_customer(customer)
    with watched() as seen:
        answer = caller.get(path)

    assert answer.status_code == 200, answer.content
    own = row_guard.scope_of_customer(brand.pk, customer.pk)
    wider = row_guard.scope_of([brand.pk], customer.pk)
    assert {scope for scope, _sql in seen} <= {own, wider, None}
    for scope, statement in seen:
        assert scope != wider or any(table in statement for table in BRAND_WIDE), statement
    assert {own, wider} & {scope for scope, _sql in seen}
    assert all(any(table in sql for table in BEFORE) for scope, sql in seen if scope is None)


@pytest.mark.parametrize("path", ["auth-codes/{code}/scans", "batch-ranges/{batch}/qr-codes"])
class TestAForgottenCheck:
    """As if the view believed that every brand's rows are the key's to read."""

    @pytest.fixture(autouse=True)
    def forgotten(self, monkeypatch):
        monkeypatch.setattr(BrandReader, "may_read", lambda *_: True)

    def status_of(self, api, path):
        code = factories.code(factories.brand())
        return api.hub().get(path.format(code=code.code, batch=code.batch_id)).status_code

    def test_shows_a_key_no_row_of_another_brand(self, api, path):
        assert self.status_of(api, path) == 404

    def test_control_without_the_guard_it_would(self, api, path, monkeypatch):
        connection.ensure_connection()
        connection.assume()
        monkeypatch.setitem(connection.settings_dict, "GUARD", False)

        assert self.status_of(api, path) == 200


def test_a_customers_data_is_exported_under_the_guard_of_the_brand(brand, settings, tmp_path):
    settings.MEDIA_ROOT = tmp_path
    customer = factories.customer(brand)
    job = data_exports.start(brand=brand, customer=customer, by=None, at=timezone.now())
    with watched() as seen:
        runner.run(job.pk)

    tables = ("loyalty_transaction", "authcodes_scan", "loyalty_notificationdelivery", "loyalty_webhookdelivery")
    held = {(table, scope) for scope, sql in seen for table in tables if f'FROM "{table}"' in sql}
    assert held == {(table, row_guard.scope_of([brand.pk], customer.pk)) for table in tables}


def test_a_job_sees_the_rows_of_its_brand(brand, settings, monkeypatch):
    factories.code(brand)
    factories.code(factories.brand())
    seen = []
    counting = replace(kinds.declared()["generate"], run=lambda _run: seen.append(AuthCode.objects.count()))
    monkeypatch.setitem(kinds.declared(), "generate", counting)
    job = queue.start(brand=brand, kind="generate", title="x", parameters={}, by=None)

    runner.run(job.pk)

    assert seen == [1]
    assert AuthCode.objects.count() == 2
