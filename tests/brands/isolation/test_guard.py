"""The guard of the database connection: what each scope sees, and that no scope outlives its block."""

import threading

import pytest
from django.db import ProgrammingError, connection, connections, transaction

from authcodes.models.products import Product
from brands.models.people import User
from brands.models.tenants import Brand
from core.db import row_guard, sql
from jobs import file_exports
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from tests.support import factories


def role() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user::text")
        [name] = cursor.fetchone()
    return name.rpartition("_")[2]


@pytest.fixture
def two_brands(db):
    brands = [factories.brand(), factories.brand()]
    for brand in brands:
        factories.product(brand)
        factories.points(factories.customer(brand), brand, 5)
    return brands


def visible_counts() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (Brand, Product, UserPoints, LoyaltyTransaction, User))


def test_only_rows_of_the_brands_in_scope_are_visible(two_brands):
    assert visible_counts() == (2, 2, 2, 2, 2)
    with row_guard.within([two_brands[0].pk]):
        assert visible_counts() == (1, 1, 1, 1, 1)
        assert list(Brand.objects.all()) == [two_brands[0]]
    with row_guard.within(brand.pk for brand in two_brands):
        assert visible_counts() == (2, 2, 2, 2, 2)
    with row_guard.within([]):
        assert visible_counts() == (0, 0, 0, 0, 0)
    assert visible_counts() == (2, 2, 2, 2, 2)


def test_role_without_a_scope_sees_no_rows(two_brands):
    with row_guard.within([two_brands[0].pk]), connection.cursor() as cursor:
        cursor.execute("RESET loyalty.brand_ids")
        cursor.execute("SELECT count(*) FROM brands_brand")
        assert cursor.fetchone() == (0,)
    connection._assumed = None


def test_rows_of_another_brand_cannot_be_written(two_brands):
    own, other = two_brands
    with row_guard.within([own.pk]):
        with pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
            Product.objects.create(brand=other, sku="x", title="x")
        assert Product.objects.filter(brand=other).update(title="stolen") == 0
        assert Product.objects.filter(brand=own).update(title="ours") == 1
        with pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
            Product.objects.filter(brand=own).update(brand=other)


def test_disabling_the_guard_ends_with_its_block(two_brands):
    with row_guard.within([two_brands[0].pk]):
        with row_guard.disabled("a test"):
            assert visible_counts()[0] == 2
        assert visible_counts()[0] == 1


@pytest.mark.django_db(transaction=True)
class TestNoScopeOutlivesItsBlock:
    def test_ends_with_an_error(self, brand):
        with pytest.raises(ZeroDivisionError), row_guard.within([brand.pk]):
            assert role() == "tenant"
            raise ZeroDivisionError
        assert role() == "app"

    def test_ends_with_a_failed_statement(self, brand):
        with pytest.raises(ProgrammingError), row_guard.within([brand.pk]), transaction.atomic():
            sql.rows("SELECT * FROM nowhere", {})
        assert role() == "app"

    def test_ends_with_a_rolled_back_transaction(self, brand):
        other = factories.brand()
        with row_guard.within([brand.pk]):
            with pytest.raises(ZeroDivisionError), transaction.atomic():
                with row_guard.within([other.pk]):
                    assert list(Brand.objects.all()) == [other]
                raise ZeroDivisionError
            assert list(Brand.objects.all()) == [brand]

    def test_ends_with_a_rolled_back_savepoint(self, brand):
        with row_guard.within([brand.pk]), transaction.atomic():
            with pytest.raises(ZeroDivisionError), transaction.atomic():
                with row_guard.disabled("a test"):
                    assert role() == "app"
                raise ZeroDivisionError
            assert role() == "tenant"

    def test_connection_opened_inside_has_the_scope(self, brand):
        factories.brand()
        with row_guard.within([brand.pk]):
            connection.close()
            assert sql.rows("SELECT id FROM brands_brand", {}) == [(brand.pk,)]
            extra_connection = connections["default"].copy()
            extra_connection.ensure_connection()
            assert extra_connection.connection.execute("SELECT id FROM brands_brand").fetchall() == [(brand.pk,)]
            extra_connection.close()
        assert role() == "app"

    def test_another_thread_does_not_have_the_scope(self, brand):
        roles_of_thread = []

        def record_role():
            roles_of_thread.append(role())
            connection.close()

        with row_guard.within([brand.pk]):
            thread = threading.Thread(target=record_role)
            thread.start()
            thread.join()
        assert roles_of_thread == ["app"]

    def test_chunks_streamed_later_have_their_scope(self, brand):
        factories.brand()
        with row_guard.within([brand.pk]):
            chunks = row_guard.carried(Brand.objects.count() for _ in range(2))
        assert [next(chunks), Brand.objects.count(), next(chunks)] == [1, 2, 1]
        assert list(chunks) == []


@pytest.mark.django_db(transaction=True)
class TestBehindPgBouncer:
    """The next transaction may run in another session, so nothing may remain in this one."""

    @pytest.fixture(autouse=True)
    def pooled(self, monkeypatch, brand):
        factories.brand()
        connection.ensure_connection()
        connection.assume()
        monkeypatch.setitem(connection.settings_dict, "POOLED", True)
        yield
        connection.close()

    @staticmethod
    def session_state() -> str:
        return connection.connection.execute(
            "SELECT current_user::text || current_setting('loyalty.brand_ids')"
        ).fetchone()[0]

    def test_single_statement_carries_its_scope(self, brand):
        before = self.session_state()
        with row_guard.within([brand.pk]):
            assert list(Brand.objects.filter(name__startswith="%").values_list("pk")) == []
            assert list(Brand.objects.all()) == [brand]
            assert Brand.objects.filter(pk=brand.pk).update(name="100 %") == 1
            assert self.session_state() == before

    def test_transaction_has_its_scope_until_it_ends(self, brand):
        before = self.session_state()
        with row_guard.within([brand.pk]):
            for _ in range(2):
                with transaction.atomic():
                    assert sql.rows("SELECT id FROM brands_brand", {}) == [(brand.pk,)]
                    assert self.session_state() != before
                assert self.session_state() == before

    def test_separate_connection_of_exports_and_replays_has_the_scope(self, brand):
        with row_guard.within([brand.pk]), file_exports.separate_connection(brand) as raw:
            assert raw.execute("SELECT id FROM brands_brand").fetchall() == [(brand.pk,)]

    def test_prepared_statement_carries_its_scope(self, brand):
        with row_guard.within([brand.pk]):
            assert sql.rows("SELECT id FROM brands_brand", {}) == [(brand.pk,)]
