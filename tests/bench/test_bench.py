"""The rows of the benchmarks fit the present tables, and a part that cannot be measured fails the command."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from authcodes.rollups import rollups
from bench import world
from bench.__main__ import PARTS
from bench.parts.portal import dashboard, lists, searches
from brands.models.tenants import Brand
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from tests.support import factories

ROOT = Path(__file__).parent.parent.parent
SIZE = 400
NO_DATABASE = "postgres://nobody@127.0.0.1:1/nothing"

pytestmark = pytest.mark.django_db(transaction=True)  # the benchmarks VACUUM


def row_counts(brand: Brand) -> dict[str, int]:
    return {model.__name__: model.objects.filter(brand=brand).count() for model in (AuthCode, BatchRange, Scan)}


def test_dashboard_rows_are_created_and_counted_alike_by_both_queries(brand: Brand) -> None:
    dashboard.add_rows(brand, SIZE)
    rollups.catch_up(brand=brand, at=timezone.now())

    assert row_counts(brand) == {"AuthCode": SIZE, "BatchRange": dashboard.BATCHES, "Scan": SIZE}
    assert LoyaltyTransaction.objects.exists()
    for name, filters in dashboard.cases(brand).items():
        dashboard.same(brand, filters, name)


def test_list_rows_are_created(brand: Brand) -> None:
    other = factories.brand()
    lists.filled(brand, SIZE, "D")
    lists.filled(other, SIZE // 2, "N")

    assert row_counts(brand) == {"AuthCode": SIZE, "BatchRange": lists.BATCHES, "Scan": SIZE}
    assert row_counts(other)["Scan"] == SIZE // 2


def test_search_rows_are_created_and_searches_measured(brand: Brand, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    searches.filled(brand, SIZE, "D")

    search_figures = searches.figures(brand, samples=2)

    assert UserPoints.objects.filter(brand=brand).count() == SIZE * 3 // 10
    assert len(search_figures) == len(searches.cases()) + 2


def test_rows_of_the_other_parts_are_created(db: None) -> None:
    brand = world.build(customers=10, codes=20, history=200)

    assert row_counts(brand) == {"AuthCode": 220, "BatchRange": 1, "Scan": 200}
    assert Event.objects.filter(brand=brand).count() == LoyaltyTransaction.objects.count() == 200


def test_every_part_can_be_measured(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    server_variables = ("DATABASE_", "REDIS_", "CELERY_", "DATA_DIR", "DJANGO_SETTINGS_MODULE")
    environment = {name: text for name, text in os.environ.items() if not name.startswith(server_variables)}

    result = subprocess.run(
        [sys.executable, "-m", "bench", "--scale", "tiny", "--json", str(figures)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=1500,
        check=False,
    )

    assert result.returncode == 0, f"{result.stdout[-3000:]}\n{result.stderr[-6000:]}"
    assert {figure["part"] for figure in json.loads(figures.read_text())} == set(PARTS)


def test_part_that_cannot_be_measured_fails_the_command(tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    (tmp_path / "data").mkdir()
    variables: dict[str, Any] = {"BENCH_INSIDE": "1", "DATA_DIR": str(tmp_path / "data"), "PYTHONPATH": str(ROOT)}
    environment = {**os.environ, **variables, "DJANGO_SETTINGS_MODULE": "bench.settings", "DATABASE_URL": NO_DATABASE}

    result = subprocess.run(
        [sys.executable, "-m", "bench", "generate", "--json", str(figures)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert result.returncode == 1
    assert "generate  could not be measured" in result.stdout
    assert json.loads(figures.read_text()) == []
