"""Statements that fill tables name every column that has to have a value."""

import re
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps
from django.db import connection, models
from django.db.models.fields import NOT_PROVIDED
from django.test.utils import isolate_apps
from django.utils import timezone

from authcodes.models.products import Product
from bench import fill
from brands.models.tenants import Brand
from loyalty.models.wallets import WalletPass
from tests.support import factories

ROOT = Path(__file__).parents[2]
OWN_TABLES = {ROOT / "bench" / "limits", ROOT / "tests" / "bin"}  # their tables are in other databases
RAW_INSERT = re.compile(r"""\binsert\s+into\s+"?(?P<table>\w+)"?\s*(?:as\s+\w+\s*)?(?:\((?P<columns>[^)]*)\))?""", re.I)


def test_columns_that_are_not_named_get_the_defaults_of_the_model(brand: Brand) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            fill.insert(
                Product, "FROM generate_series(1, 2) n", brand_id="%(brand)s", title="'Tea ' || n", sku="'TEA-' || n"
            ),
            {"brand": brand.pk},
        )

    unsaved = Product(brand=brand)
    rows = list(Product.objects.filter(brand=brand).order_by("pk"))
    assert [row.title for row in rows] == ["Tea 1", "Tea 2"]
    for field in Product._meta.concrete_fields:
        if field.attname not in {"id", "title", "sku", "created_at", "updated_at"}:
            default = getattr(unsaved, field.attname)
            assert [getattr(row, field.attname) for row in rows] == [default, default], field.attname


def test_callable_defaults_are_evaluated_for_each_row(brand: Brand) -> None:
    factories.points(factories.customer(brand), brand, 1)
    statement = fill.insert(
        WalletPass,
        "FROM user_points, unnest(ARRAY['apple', 'google']) AS platform",
        account_id="user_point_id",
        brand_id="brand_id",
        platform="platform",
        token="''",
    )

    with connection.cursor() as cursor:
        cursor.execute(statement)

    passes = WalletPass.objects.all()
    assert len({each.serial for each in passes}) == 2
    assert [each.notified_at for each in passes] == [[], []]


@isolate_apps("bench")
def test_insert_has_every_kind_of_default() -> None:
    class Sample(models.Model):
        own_key = models.UUIDField(primary_key=True, default=uuid.uuid4)
        needed = models.CharField(max_length=9)
        left_out = models.CharField(max_length=9, blank=True)
        nothing = models.IntegerField(null=True)
        text = models.TextField(default="5 % of 'it'")
        known = models.BooleanField(default=True)
        at_database = models.IntegerField(default=1, db_default=2)
        made = models.DateTimeField(auto_now_add=True)
        at = models.DateTimeField(default=timezone.now)
        rows = models.JSONField(default=dict)
        lottery = models.IntegerField(default=lambda: 4)

        class Meta:
            app_label = "bench"

        def __str__(self) -> str:
            return self.needed

    statement = fill.insert(Sample, "FROM t", needed="t.x", lottery="7")

    named = '"own_key", "needed", "left_out", "text", "known", "made", "at", "rows", "lottery"'
    assert statement.splitlines() == [
        f'INSERT INTO "bench_sample" ({named})',
        "SELECT gen_random_uuid(), t.x, '', '5 %% of ''it''', true, now(), now(), '{}', 7",
        "FROM t",
    ]
    with pytest.raises(TypeError, match=r"Sample\.needed needs a value"):
        fill.insert(Sample, "FROM t", lottery="7")
    with pytest.raises(TypeError, match=r"Sample\.lottery needs a value"):
        fill.insert(Sample, "FROM t", needed="t.x")
    with pytest.raises(TypeError, match="Sample has no color"):
        fill.insert(Sample, "FROM t", needed="t.x", lottery="7", color="1")


# --- Statements written by hand --------------------------------------------------------------------------------------


def missing(statements: str) -> Iterator[str]:
    """The columns that the INSERTs in a text leave out, although they need a value and have no database default."""
    tables = {model._meta.db_table: model for model in apps.get_models(include_auto_created=True)}
    for match in RAW_INSERT.finditer(statements):
        model, named = tables.get(match["table"]), match["columns"]
        if model is None:
            yield f"{match['table']} is no table of a model"
        elif named is None:
            yield f"{match['table']}: no columns are named"
        else:
            columns = {column.strip(' "\n') for column in named.split(",")}
            yield from (f"{match['table']}.{column}" for column in sorted(needed(model) - columns))


def needed(model: type[models.Model]) -> set[str]:
    return {
        field.column
        for field in model._meta.local_concrete_fields
        if not field.null and field.db_default is NOT_PROVIDED and not isinstance(field, models.AutoField)
    }


def test_raw_inserts_name_every_column_that_needs_a_value() -> None:
    files = [
        path for folder in ("bench", "tests") for path in (ROOT / folder).rglob("*") if path.suffix in {".py", ".sql"}
    ]

    complaints_by_file = {
        str(path.relative_to(ROOT)): complaints
        for path in files
        if not OWN_TABLES & set(path.parents) and path != Path(__file__)
        if (complaints := list(missing(path.read_text())))
    }

    assert complaints_by_file == {}


@pytest.mark.parametrize(
    ("statement", "complaints"),
    [
        ("INSERT INTO events_lost (id) VALUES (1)", ["events_lost is no table of a model"]),
        ("insert into brands_customerword SELECT 1", ["brands_customerword: no columns are named"]),
        ("INSERT INTO brands_customerword AS w (brand_id, word) SELECT 1", ["brands_customerword.user_id"]),
        ('INSERT INTO "brands_customerword"\n ("brand_id",\n "user_id", word) SELECT 1', []),
    ],
)
def test_control_missing_columns_are_reported(statement: str, complaints: list[str]) -> None:
    assert list(missing(statement)) == complaints
