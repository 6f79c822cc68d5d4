"""Exports of a million scans: exports.write compared with PostgreSQL's plain COPY TO of the same rows and columns."""

import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import IO, Any

from django.db import connection
from django.db.models import QuerySet

from authcodes.models.scans import Scan
from authcodes.reports.columns import SCANS
from bench import world
from bench.harness import Figure, Scale, interleaved, orientation, ratio, say
from bench.parts.scans.generate import memory, reset_peak_memory
from brands.models.tenants import Brand
from core.spreadsheets.report import ReportFormat
from jobs import file_exports

PART = "exports"
CUSTOMERS = 10_000
# The raw columns: no time zone, quotes only where a comma requires them, no neutral cells.
BARE = """
    COPY (SELECT s.code, p.title, s.scanned_at, u.email, s.location, s.points_awarded
            FROM authcodes_scan s
            LEFT JOIN authcodes_product p ON p.id = s.product_id
            LEFT JOIN brands_user u ON u.id = s.user_id
           WHERE s.brand_id = {brand} ORDER BY s.scanned_at DESC, s.scan_id DESC) TO STDOUT WITH (FORMAT csv, HEADER)
"""


def measure(scale: Scale) -> list[Figure]:
    quantity, rounds = scale.pick((1_000_000, 3), (200_000, 3), (500, 1))
    world.use_database("bench_exports", new=True)
    brand = world.build(customers=min(CUSTOMERS, quantity), codes=quantity // 100, history=quantity)
    rows = Scan.objects.filter(brand=brand).order_by("-scanned_at", "-scan_id")
    growth: dict[str, list[float]] = {"CSV": [], "XLSX": []}
    ways: dict[str, Callable[[], float]] = {
        "COPY TO": partial(bare, brand),
        "plain CSV": partial(plain, rows, brand, quantity),
        "CSV": partial(written, rows, brand, ReportFormat.CSV, growth["CSV"], quantity),
    }
    for way in ways.values():
        way()
    growth["CSV"].clear()
    results_by_name, other_load = interleaved(PART, rounds, ways)
    own, unsafe, copied = results_by_name["CSV"], results_by_name["plain CSV"], results_by_name["COPY TO"]
    workbook = [written(rows, brand, ReportFormat.XLSX, growth["XLSX"], quantity)]
    say(f"  memory grew by {max(growth['CSV']):.1f} MB for CSV, {max(growth['XLSX']):.1f} MB for XLSX")
    return [
        ratio(PART, f"{quantity:,} scans as plain CSV / COPY TO", unsafe, copied, goal=2, at_least=False),
        ratio(PART, f"{quantity:,} scans as safe CSV / COPY TO", own, copied, goal=3, at_least=False),
        Figure(PART, "growth of memory, CSV", max(growth["CSV"]), "MB", 20, at_least=False),
        Figure(PART, "growth of memory, XLSX", max(growth["XLSX"]), "MB", 20, at_least=False),
        orientation(PART, f"{quantity:,} scans as safe CSV", own, "s"),
        orientation(PART, f"{quantity:,} scans as plain CSV", unsafe, "s"),
        orientation(PART, f"{quantity:,} scans, bare COPY TO", copied, "s"),
        orientation(PART, f"{quantity:,} scans as XLSX", workbook, "s"),
        other_load,
    ]


def bare(brand: Brand) -> float:
    began = time.perf_counter()
    with tempfile.TemporaryFile() as file, connection.cursor() as cursor:
        with cursor.cursor.copy(BARE.format(brand=brand.pk)) as copy:
            for line in copy:
                file.write(line)
        return time.perf_counter() - began


def plain(rows: QuerySet[Any], brand: Brand, quantity: int) -> float:
    """The report with its columns, zone and quotes, but with raw formulas; the product does not offer this."""
    began = time.perf_counter()
    rows.order_by().count()
    statement, parameters = SCANS.statement(rows, csv=False)
    copied = f"COPY ({statement}) TO STDOUT WITH (FORMAT csv, FORCE_QUOTE *)"
    with tempfile.TemporaryFile() as file, file_exports.separate_connection(brand) as own:
        with own.cursor().copy(copied, parameters) as copy:
            done = 0
            for line in copy:
                file.write(line)
                done += 1
        spent = time.perf_counter() - began
    assert done == quantity
    return spent


def written(rows: QuerySet[Any], brand: Brand, file_format: ReportFormat, growth: list[float], quantity: int) -> float:
    """As the job does it, including the count for its progress."""
    before = reset_peak_memory()
    began = time.perf_counter()
    file: IO[bytes]
    with tempfile.TemporaryFile() as file:
        rows.order_by().count()
        done = file_exports.write(
            file, report=SCANS, rows=rows, file_format=file_format, brand=brand, progress=lambda _: None
        )
        spent = time.perf_counter() - began
    growth.append(memory("VmHWM") - before)
    assert done == quantity
    return spent
