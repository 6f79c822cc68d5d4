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
        [found] = cursor.fetchone()
    return found.rpartition("_")[2]


@pytest.fixture
def two(db):
    brands = [factories.brand(), factories.brand()]
    for brand in brands:
        factories.product(brand)
        factories.points(factories.customer(brand), brand, 5)
    return brands


def seen() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (Brand, Product, UserPoints, LoyaltyTransaction, User))


def test_only_rows_of_the_brands_in_scope_are_seen(two):
    assert seen() == (2, 2, 2, 2, 2)
    with row_guard.within([two[0].pk]):
        assert seen() == (1, 1, 1, 1, 1)
        assert list(Brand.objects.all()) == [two[0]]
    with row_guard.within(brand.pk for brand in two):
        assert seen() == (2, 2, 2, 2, 2)
    with row_guard.within([]):
        assert seen() == (0, 0, 0, 0, 0)
    assert seen() == (2, 2, 2, 2, 2)


def test_a_role_without_a_scope_sees_nothing(two):
    with row_guard.within([two[0].pk]), connection.cursor() as cursor:
        cursor.execute("RESET loyalty.brand_ids")
        cursor.execute("SELECT count(*) FROM brands_brand")
        assert cursor.fetchone() == (0,)
    connection._assumed = None


def test_nothing_is_written_for_another_brand(two):
    own, other = two
    with row_guard.within([own.pk]):
        with pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
            Product.objects.create(brand=other, sku="x", title="x")
        assert Product.objects.filter(brand=other).update(title="stolen") == 0
        assert Product.objects.filter(brand=own).update(title="ours") == 1
        with pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
            Product.objects.filter(brand=own).update(brand=other)


def test_lifting_the_guard_ends_with_its_block(two):
    with row_guard.within([two[0].pk]):
        with row_guard.disabled("a test"):
            assert seen()[0] == 2
        assert seen()[0] == 1


@pytest.mark.django_db(transaction=True)
class TestNoScopeOutlivesItsBlock:
    def test_an_error_inside(self, brand):
        with pytest.raises(ZeroDivisionError), row_guard.within([brand.pk]):
            assert role() == "tenant"
            raise ZeroDivisionError
        assert role() == "app"

    def test_a_statement_that_fails(self, brand):
        with pytest.raises(ProgrammingError), row_guard.within([brand.pk]), transaction.atomic():
            sql.rows("SELECT * FROM nowhere", {})
        assert role() == "app"

    def test_a_transaction_that_is_rolled_back_takes_the_scope_with_it(self, brand):
        other = factories.brand()
        with row_guard.within([brand.pk]):
            with pytest.raises(ZeroDivisionError), transaction.atomic():
                with row_guard.within([other.pk]):
                    assert list(Brand.objects.all()) == [other]
                raise ZeroDivisionError
            assert list(Brand.objects.all()) == [brand]

    def test_a_savepoint_that_is_rolled_back(self, brand):
        with row_guard.within([brand.pk]), transaction.atomic():
            with pytest.raises(ZeroDivisionError), transaction.atomic():
                with row_guard.disabled("a test"):
                    assert role() == "app"
                raise ZeroDivisionError
            assert role() == "tenant"

    def test_a_connection_that_is_opened_inside(self, brand):
        factories.brand()
        with row_guard.within([brand.pk]):
            connection.close()
            assert sql.rows("SELECT id FROM brands_brand", {}) == [(brand.pk,)]
            beside = connections["default"].copy()
            beside.ensure_connection()
            assert beside.connection.execute("SELECT id FROM brands_brand").fetchall() == [(brand.pk,)]
            beside.close()
        assert role() == "app"

    def test_another_thread_knows_nothing_of_it(self, brand):
        found = []

        def record_role():
            found.append(role())
            connection.close()

        with row_guard.within([brand.pk]):
            thread = threading.Thread(target=record_role)
            thread.start()
            thread.join()
        assert found == ["app"]

    def test_chunks_that_are_streamed_later_keep_theirs(self, brand):
        factories.brand()
        with row_guard.within([brand.pk]):
            chunks = row_guard.carried(Brand.objects.count() for _ in range(2))
        assert [next(chunks), Brand.objects.count(), next(chunks)] == [1, 2, 1]
        assert list(chunks) == []


@pytest.mark.django_db(transaction=True)
class TestBehindPgBouncer:
    """Where the next transaction may run in another session, nothing stays behind in this one."""

    @pytest.fixture(autouse=True)
    def pooled(self, monkeypatch, brand):  # noqa: ARG002
        factories.brand()
        connection.ensure_connection()
        connection.assume()
        monkeypatch.setitem(connection.settings_dict, "POOLED", True)
        yield
        connection.close()

    @staticmethod
    def left() -> str:
        return connection.connection.execute(
            "SELECT current_user::text || current_setting('loyalty.brand_ids')"
        ).fetchone()[0]

    def test_a_statement_alone_brings_its_scope(self, brand):
        before = self.left()
        with row_guard.within([brand.pk]):
            assert list(Brand.objects.filter(name__startswith="%").values_list("pk")) == []
            assert list(Brand.objects.all()) == [brand]
            assert Brand.objects.filter(pk=brand.pk).update(name="100 %") == 1
            assert self.left() == before

    def test_a_transaction_has_it_until_it_ends(self, brand):
        before = self.left()
        with row_guard.within([brand.pk]):
            for _ in range(2):
                with transaction.atomic():
                    assert sql.rows("SELECT id FROM brands_brand", {}) == [(brand.pk,)]
                    assert self.left() != before
                assert self.left() == before

    def test_the_connection_beside_djangos_that_exports_and_replays_read_by(self, brand):
        with row_guard.within([brand.pk]), file_exports.separate_connection(brand) as raw:
            assert raw.execute("SELECT id FROM brands_brand").fetchall() == [(brand.pk,)]

    def test_a_prepared_statement_alone(self, brand):
        with row_guard.within([brand.pk]):
            assert sql.rows("SELECT id FROM brands_brand", {}) == [(brand.pk,)]
