"""Assigning codes by CSV, compared with COPY with minimal checks, with django-import-export, and with one UPDATE."""

import io
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import tablib
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone
from import_export import fields, resources, widgets

from authcodes.codes import batches
from authcodes.imports import commit, uploads
from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.models.imports import Import
from authcodes.models.products import Product
from bench import world
from bench.harness import PROJECT, Figure, Scale, interleaved, orientation, ratio, say
from bench.parts.scans.generate import memory, reset_peak_memory
from brands.models.people import User
from jobs import kinds, runner
from jobs.models import Job
from tests.support import factories

PART = "imports"
DATABASE = "bench_imports"
HEADER = "auth_code,inventory_location,notes\n"
PEER_ROWS = 3_000
FLOOR = (
    'CREATE TEMPORARY TABLE floor (code text COLLATE "C", place text, notes text)',
    "COPY floor FROM STDIN (FORMAT csv, HEADER true)",
    """SELECT count(*) FILTER (WHERE c.id IS NULL), count(*) FILTER (WHERE c.product_id <> %(product)s)
         FROM floor f LEFT JOIN authcodes_authcode c ON c.code = f.code AND c.brand_id = %(brand)s""",
    "SELECT code FROM floor GROUP BY code HAVING count(*) > 1",
    """UPDATE authcodes_authcode c SET product_id = %(product)s, inventory_location = f.place, notes = f.notes
         FROM floor f WHERE c.code = f.code AND c.brand_id = %(brand)s""",
    "DROP TABLE floor",
)
ONE_UPDATE = """
    UPDATE authcodes_authcode SET product_id = %(product)s, location = 'Pune', points_per_scan = 7
     WHERE code BETWEEN %(first)s AND %(last)s AND brand_id = %(brand)s
"""


class Codes:
    """Codes without a product, in blocks that never repeat."""

    def __init__(self, batch: BatchRange, product: Product, staff: User) -> None:
        self.batch, self.product, self.staff = batch, product, staff
        self.taken = 0
        self.answers: list[float] = []

    def take(self, quantity: int) -> list[str]:
        first = self.taken
        self.taken += quantity
        return [f"{world.PREFIX}{number:0{world.WIDTH}d}" for number in range(first, self.taken)]

    def csv(self, quantity: int) -> bytes:
        lines = (f"{code},Warehouse 2 shelf {code[-2:]},pallet {code[-4:-2]}\n" for code in self.take(quantity))
        return (HEADER + "".join(lines)).encode()


class Peer(resources.ModelResource):
    """django-import-export with its default settings."""

    product = fields.Field("product", "product_sku", widgets.ForeignKeyWidget(Product, "sku"))

    class Meta:
        model = AuthCode
        import_id_fields = ("code",)
        fields = ("code", "product", "inventory_location", "notes")


def measure(scale: Scale) -> list[Figure]:
    rows, rounds, peer_rows = scale.pick((100_000, 3, PEER_ROWS), (20_000, 2, PEER_ROWS), (200, 1, 20))
    codes = prepared(rows * (4 * rounds + 3) + peer_rows * rounds)
    lists = {"ours": partial(listed, codes, rows), "COPY floor": partial(floor, codes, rows)}
    for way in lists.values():
        way()
    codes.answers.clear()
    results_by_name, other_load = interleaved(PART, rounds, {**lists, "import-export": partial(peer, codes, peer_rows)})
    ours, floors, peers = results_by_name.values()
    scaled = [spent * rows / peer_rows for spent in peers]
    of_range = {"range": partial(ranged, codes, rows), "UPDATE": partial(one_update, codes, rows)}
    ranges, updates = interleaved(PART, rounds, of_range)[0].values()
    below: dict[str, Any] = {"at_least": False}
    note = f"{peer_rows:,} rows, scaled"
    return [
        Figure(PART, f"upload of {rows:,} rows answers within", max(codes.answers), "s", 1, **below),
        ratio(PART, f"import-export / ours, preview and commit ({note})", scaled, ours, goal=50),
        ratio(PART, f"{rows:,} rows, preview and commit / COPY floor", ours, floors, goal=6, **below),
        Figure(PART, "growth of memory meanwhile", growth(codes, rows), "MB", 40, **below),
        ratio(PART, f"commit of a range of {rows:,} codes / one UPDATE", ranges, updates, goal=1.5, **below),
        orientation(PART, f"{rows:,} rows, preview and commit", ours, "s"),
        orientation(PART, "the COPY floor", floors, "s"),
        orientation(PART, f"import-export ({note})", scaled, "s"),
        orientation(PART, f"commit of a range of {rows:,} codes", ranges, "s"),
        other_load,
    ]


def prepared(quantity: int) -> Codes:
    world.use_database(DATABASE, new=True)
    brand = factories.brand()
    batch = world.batch_of(brand, factories.product(brand), quantity=quantity, prefix=world.PREFIX)
    say(f"making {quantity:,} codes ...")
    BatchRange.objects.filter(pk=batch.pk).update(product=None)
    batches.generate(batch_id=batch.pk, at=timezone.now())
    world.run("VACUUM (ANALYZE) authcodes_authcode")
    staff = factories.user(is_staff=True, is_superuser=True)
    return Codes(batch, factories.product(brand, sku="NEW"), staff)


def listed(codes: Codes, rows: int) -> float:
    """Upload through the portal's page, then the worker's task; seconds of the worker's work."""
    file = SimpleUploadedFile("codes.csv", codes.csv(rows), content_type="text/csv")
    sent = {"brand": codes.batch.brand_id, "kind": "list", "product": codes.product.pk, "file": file}
    client = Client(SERVER_NAME="localhost")
    client.force_login(codes.staff)
    settled()
    began = time.perf_counter()
    with override_settings(SECURE_SSL_REDIRECT=False):
        answer = client.post(reverse("admin:authcodes_import_add"), sent)
    codes.answers.append(time.perf_counter() - began)
    assert answer.status_code == 302, answer.content
    del sent, file, answer
    upload = Import.objects.latest("pk")
    spent = checked(upload) + committed(upload)
    assert upload.codes == rows
    return spent


def growth(codes: Codes, rows: int) -> float:
    """Megabytes for check and commit in a fresh process, which has no memory to reuse."""
    file = SimpleUploadedFile("codes.csv", codes.csv(rows))
    options = {"brand": codes.batch.brand, "kind": "list", "product": codes.product, "by": codes.staff}
    upload = uploads.upload(file=file, name="codes.csv", **options)
    alone = (
        f"from bench import harness; harness.prepare(); from bench.parts.work import imports; imports.grow({upload.pk})"
    )
    output = subprocess.run(
        [sys.executable, "-c", alone], cwd=PROJECT, capture_output=True, text=True, check=True
    ).stdout
    return float(output.splitlines()[-1])


def grow(upload_id: int) -> None:
    world.use_database(DATABASE)
    upload = Import.objects.get(pk=upload_id)
    kinds.declared()
    before = reset_peak_memory()
    checked(upload)
    committed(upload)
    print(memory("VmHWM") - before)


def checked(upload: Import) -> float:
    return ran(Job.objects.get(kind="check-import", parameters__import_id=upload.pk), upload)


def committed(upload: Import) -> float:
    return ran(commit.commit(upload=upload, skip_bad=False, by=upload.uploaded_by), upload)


def ran(job: Job, upload: Import) -> float:
    began = time.perf_counter()
    runner.run(job.pk)
    spent = time.perf_counter() - began
    job.refresh_from_db()
    upload.refresh_from_db()
    assert job.status == "done", job.log
    return spent


def floor(codes: Codes, rows: int) -> float:
    content = codes.csv(rows)
    parameters = {"brand": codes.batch.brand_id, "product": codes.product.pk}
    settled()
    began = time.perf_counter()
    with connection.cursor() as cursor:
        for statement in FLOOR:
            if statement.startswith("COPY"):
                with cursor.copy(statement) as copy:
                    copy.write(content)
            else:
                cursor.execute(statement, parameters)
    return time.perf_counter() - began


def peer(codes: Codes, rows: int) -> float:
    """Preview and commit of this many rows; its cost per row does not fall with more rows."""
    data = tablib.Dataset().load(io.StringIO(peer_csv(codes, rows)), format="csv")
    settled()
    began = time.perf_counter()
    for dry_run in (True, False):
        result = Peer().import_data(data, dry_run=dry_run, raise_errors=True)
        assert result.totals["update"] == rows, result.totals
    return time.perf_counter() - began


def peer_csv(codes: Codes, rows: int) -> str:
    def lines() -> Iterator[str]:
        yield "code,product_sku,inventory_location,notes\n"
        for code in codes.take(rows):
            yield f"{code},{codes.product.sku},Warehouse 2 shelf {code[-2:]},pallet {code[-4:-2]}\n"

    return "".join(lines())


def ranged(codes: Codes, rows: int) -> float:
    """Seconds of the commit alone: one row, `rows` codes."""
    taken = codes.take(rows)
    line = f"{codes.product.sku},{taken[0]},{taken[-1]},Pune,7\n"
    content = f"product_sku,auth_code_start,auth_code_end,location,points_per_scan\n{line}".encode()
    file = SimpleUploadedFile("ranges.csv", content)
    brand = codes.batch.brand
    upload = uploads.upload(brand=brand, kind="ranges", product=None, file=file, name="ranges.csv", by=codes.staff)
    checked(upload)
    settled()
    spent = committed(upload)
    assert upload.codes == rows
    return spent


def one_update(codes: Codes, rows: int) -> float:
    taken = codes.take(rows)
    parameters = {"brand": codes.batch.brand_id, "product": codes.product.pk, "first": taken[0], "last": taken[-1]}
    settled()
    began = time.perf_counter()
    world.run(ONE_UPDATE, parameters)
    return time.perf_counter() - began


def settled() -> None:
    """Write out everything left by the previous run."""
    world.run("CHECKPOINT")
