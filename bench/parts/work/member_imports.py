"""Importing members with opening balances from a file, compared with COPY of exactly the resulting rows."""

import io
import time
from typing import Any

from django.db import connection, transaction
from django.utils import timezone

from bench import world
from bench.harness import Figure, Scale, interleaved, orientation, ratio
from brands.audit_log import AuditContext
from brands.models.people import User
from brands.models.tenants import Brand
from core.spreadsheets.csv_files import Row
from loyalty.admin.members.resource import MemberResource
from loyalty.models.accounts import UserPoints
from portal.import_export.plans import Outcome
from portal.import_export.tables import Table
from tests.support import factories

PART = "member_imports"
ROWS = 100_000
COLUMNS = ["email", "first_name", "last_name", "external_id", "opening_balance"]
# For each table, the rows that an import created, and the columns that assign them to another brand.
TABLES = {
    "brands_user": "id IN (SELECT user_id FROM user_points WHERE brand_id = {brand})",
    "user_points": "brand_id = {brand}",
    "loyalty_transaction": "user_point_id IN (SELECT user_point_id FROM user_points WHERE brand_id = {brand})",
    "brands_auditlogentry": "brand_id = {brand}",
}


def measure(scale: Scale) -> list[Figure]:
    rows, rounds = scale.pick((ROWS, 3), (20_000, 3), (200, 1))
    world.use_database("bench_member_imports", new=True)
    world.run("SET statement_timeout = 0")  # for COPY, which writes everything in one statement
    results_by_name, other_load = interleaved(
        PART, rounds, {"import": lambda: spent_on_import(rows), "COPY": lambda: spent_on_copy(rows)}
    )
    return [
        orientation(PART, f"{rows:,} members checked and imported", results_by_name["import"], "s"),
        orientation(PART, "COPY of the rows that they become", results_by_name["COPY"], "s"),
        ratio(
            PART,
            "import / COPY of the same rows",
            results_by_name["import"],
            results_by_name["COPY"],
            goal=10,
            at_least=False,
        ),
        other_load,
    ]


def new_brand() -> Brand:
    brand = factories.brand()
    for name, threshold in (("Bronze", 0), ("Silver", 100), ("Gold", 1_000)):
        factories.level(brand, name, threshold)
    return brand


def table(brand: Brand, rows: int) -> Table:
    lines = (
        [f"m{number}@{brand.slug}.example.com", f"First{number % 997}", f"Last{number % 9973}", f"C-{number}", "120.5"]
        for number in range(rows)
    )
    return Table(COLUMNS, [Row(line, values) for line, values in enumerate(lines, 2)])


def members_of(brand: Brand, operator: User) -> MemberResource:
    """The resource for an operator, to whom no daily limit of points applies."""
    resource = MemberResource(brand, may_add=True, may_change=True)
    resource.by = operator
    return resource


def spent_on_import(rows: int) -> float:
    """From the cells to the commit: everything that a confirmed import does."""
    brand = new_brand()
    cells = table(brand, rows)
    operator = factories.user(is_staff=True, is_superuser=True)
    began = time.perf_counter()
    with transaction.atomic():
        resource = members_of(brand, operator)
        plan = resource.plan(cells, lock=True)
        resource.write(plan, context=AuditContext(operator, timezone.now(), reason="bench"))
    took = time.perf_counter() - began
    assert plan.count(Outcome.NEW) == rows, next(plan.of(Outcome.ERROR)).errors_text
    assert UserPoints.objects.filter(brand=brand, points="120.5", current_level="Silver").count() == rows
    return took


def spent_on_copy(rows: int) -> float:
    """Remove the rows of one import and copy them into the same tables, with their indexes and triggers."""
    brand = new_brand()
    operator = factories.user(is_staff=True, is_superuser=True)
    with transaction.atomic():
        resource = members_of(brand, operator)
        resource.write(resource.plan(table(brand, rows)), context=AuditContext(operator, timezone.now()))
    with connection.as_owner():
        contents = {name: copied_out(name, which.format(brand=brand.pk)) for name, which in TABLES.items()}
        with connection.cursor() as cursor:
            cursor.execute("SET session_replication_role = replica")
            cursor.execute("DELETE FROM brands_customerword WHERE brand_id = %s", [brand.pk])
            for name, which in reversed(TABLES.items()):
                if name == "brands_user":
                    continue
                cursor.execute(f"DELETE FROM {name} WHERE {which.format(brand=brand.pk)}")
            cursor.execute("DELETE FROM brands_user WHERE email LIKE %s", [f"%@{brand.slug}.example.com"])
            cursor.execute("RESET session_replication_role")
        began = time.perf_counter()
        with transaction.atomic():
            for name, content in contents.items():
                copied_in(name, content)
        return time.perf_counter() - began


def copied_out(name: str, which: str) -> bytes:
    content = io.BytesIO()
    with connection.cursor() as cursor, cursor.copy(f"COPY (SELECT * FROM {name} WHERE {which}) TO STDOUT") as copy:
        for part in copy:
            content.write(part)
    return content.getvalue()


def copied_in(name: str, content: bytes) -> Any:
    with connection.cursor() as cursor, cursor.copy(f"COPY {name} FROM STDIN") as copy:
        copy.write(content)
