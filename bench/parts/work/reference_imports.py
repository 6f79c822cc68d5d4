"""Files of products: the synchronous preview, and the two jobs for a large file."""

import io
import subprocess
import sys
import time
from typing import Any

from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from authcodes.admin.resources import ProductResource
from authcodes.models.products import Product
from bench import world
from bench.harness import PROJECT, Figure, Scale, orientation, say
from bench.parts.scans.generate import memory, reset_peak_memory
from brands.models.people import User
from brands.models.tenants import Brand
from jobs import runner
from jobs.models import Job, StagedUpload
from portal.import_export import imports, large_files, tables
from tests.support import factories
from tests.support.imports import upload

PART = "reference_imports"
DATABASE = "bench_reference_imports"
PREVIEW_SECONDS = 2
MEMORY_MB = 60
HEADER = "sku,title,gtin,retail_price,points_per_scan,active\n"


def measure(scale: Scale) -> list[Figure]:
    rows, large, rounds = scale.pick((2_000, 200_000, 5), (2_000, 20_000, 3), (20, 60, 1))
    world.use_database(DATABASE, new=True)
    brand = factories.brand()
    owner = factories.user(is_staff=True, is_superuser=True)
    products(brand, rows)
    world.run("VACUUM ANALYZE")
    spent, queries = previewed(brand, owner, rows, rounds)
    if scale is Scale.TINY:
        tables.MAX_ROWS = 20
    checked, imported = jobs_of(brand, owner, large)
    below: dict[str, Any] = {"at_least": False}
    return [
        Figure(
            PART,
            f"preview of {rows:,} products, uploaded through the portal",
            max(spent),
            "s",
            PREVIEW_SECONDS,
            **below,
        ),
        Figure(PART, f"statements of the preview of {rows:,} products", queries, "", 25, **below),
        Figure(
            PART,
            f"growth of memory while {large:,} products are checked",
            growth(brand, owner, large),
            "MB",
            MEMORY_MB,
            **below,
        ),
        orientation(PART, f"{large:,} products checked by a job", [checked], "s"),
        orientation(PART, f"{large:,} products imported by a job", [imported], "s"),
    ]


def products(brand: Brand, rows: int) -> None:
    """Create half of the products in the file, with other titles."""
    made = (Product(brand=brand, sku=f"SKU-{number:07d}", title=f"Old {number}") for number in range(0, rows, 2))
    Product.objects.bulk_create(made, batch_size=1_000)


def file_of(rows: int) -> bytes:
    lines = (f"SKU-{number:07d},Title {number},,{number % 500}.90,{number % 9},yes\n" for number in range(rows))
    return (HEADER + "".join(lines)).encode()


def previewed(brand: Brand, owner: User, rows: int, rounds: int) -> tuple[list[float], int]:
    """Seconds from the upload to the preview, and the preview's statements."""
    spent, most = [], 0
    client = Client(SERVER_NAME="localhost")
    client.force_login(owner)
    content = file_of(rows)
    with override_settings(SECURE_SSL_REDIRECT=False, ALLOWED_HOSTS=["*"]):
        client.get(upload(owner, ProductResource.label(), brand, file_of(1))["Location"])  # loads what pages need
        for _round in range(rounds):
            began = time.perf_counter()
            where = upload(owner, ProductResource.label(), brand, content)["Location"]
            with CaptureQueriesContext(connection) as queries:
                page: Any = client.get(where)
            spent.append(time.perf_counter() - began)
            most = max(most, len(queries))
            assert sum(number for _label, number in page.context_data["counts"]) == rows
    return spent, most


def staged(brand: Brand, owner: User, rows: int) -> StagedUpload:
    content = file_of(rows)
    made = imports.stage(
        ProductResource, brand=brand, by=owner, file=io.BytesIO(content), size=len(content), name="products.csv"
    )
    large_files.start_check(made)
    return made


def jobs_of(brand: Brand, owner: User, rows: int) -> tuple[float, float]:
    """Seconds of the check and of the import."""
    say(f"importing {rows:,} products ...")
    made = staged(brand, owner, rows)
    checked = ran(made)
    large_files.start_import(made, digest=made.preview["digest"], request_id="")
    imported = ran(made)
    assert Product.objects.filter(brand=brand).count() == rows
    return checked, imported


def ran(made: StagedUpload) -> float:
    began = time.perf_counter()
    job = Job.objects.get(pk=made.job_id)
    runner.run(job.pk)
    spent = time.perf_counter() - began
    job.refresh_from_db()
    made.refresh_from_db()
    assert job.status == "done", job.log
    return spent


def growth(brand: Brand, owner: User, rows: int) -> float:
    """Megabytes for the check in a fresh process, which has no memory to reuse."""
    made = staged(brand, owner, rows)
    alone = (
        "from bench import harness; harness.prepare(); from bench.parts.work import reference_imports; "
        f"reference_imports.grow({made.pk}, {tables.MAX_ROWS})"
    )
    output = subprocess.run(
        [sys.executable, "-c", alone], cwd=PROJECT, capture_output=True, text=True, check=True
    ).stdout
    return float(output.splitlines()[-1])


def grow(upload_id: int, portion: int) -> None:
    world.use_database(DATABASE)
    tables.MAX_ROWS = portion
    made = StagedUpload.objects.get(pk=upload_id)
    assert made.expires_at > timezone.now()
    before = reset_peak_memory()
    ran(made)
    print(memory("VmHWM") - before)
