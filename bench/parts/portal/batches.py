"""The page of a batch of 1,000,000 codes, with each of its tabs, against one of 1,000; and a part of its strip."""

from statistics import median, quantiles
from typing import Any

from django.test import Client
from django.test.utils import override_settings
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from authcodes.codes import prefixes
from authcodes.models.batches import BatchRange
from authcodes.models.code_history import CodeChange
from authcodes.models.codes import AuthCode
from authcodes.models.prints import PrintRun
from authcodes.models.products import Product
from authcodes.models.scans import Scan
from authcodes.rollups import rollups
from bench import fill, world
from bench.harness import Figure, Scale, ratio, say
from bench.parts.portal.lists import browser, owner_of, sampled
from brands.models.tenants import Brand
from jobs.models import Job
from tests.support import factories

PART = "batches"
SLOWEST_MS = 300
MAX_QUERIES = 40
RUNS = 200  # print files and deliveries of the large batch

# A batch: one code in three is scanned, one in a hundred deactivated, and its second half has a product.
FILL = (
    fill.insert(
        AuthCode,
        "FROM generate_series(1, %(size)s) n ORDER BY n",
        code="%(prefix)s || lpad(n::text, 10, '0')",
        brand_id="%(brand)s",
        batch_id="%(batch)s",
        product_id="CASE WHEN n > %(size)s / 2 THEN %(product)s END",
        scan_count="CASE WHEN n %% 3 = 0 AND n > %(size)s / 2 THEN 1 ELSE 0 END",
        deactivated_at="CASE WHEN n %% 100 = 7 THEN now() END",
    ),
    fill.insert(
        Scan,
        """
          FROM authcodes_authcode c WHERE c.batch_id = %(batch)s AND c.scan_count = 1 ORDER BY c.id
        """,
        scan_id="uuidv7()",
        brand_id="%(brand)s",
        auth_code_id="c.id",
        batch_id="%(batch)s",
        product_id="c.product_id",
        code="c.code",
        outcome="'success'",
        reason="'accepted'",
        scan_count="1",
        points_status="'guest'",
        location="'City ' || c.id %% 60",
        scanned_at="now() - make_interval(mins => (c.id %% 100000)::int)",
    ),
    # Overlapping print files, and as many deliveries, spread over the batch.
    fill.insert(
        Job,
        "FROM generate_series(1, %(runs)s) n ORDER BY n",
        brand_id="%(brand)s",
        kind="'print-batch'",
        title="%(prefix)s || n",
        status="'done'",
    ),
    fill.insert(
        PrintRun,
        "FROM jobs_job j WHERE j.title LIKE %(prefix)s || '%%' ORDER BY j.id",
        brand_id="%(brand)s",
        batch_id="%(batch)s",
        job_id="j.id",
        output="'labels'",
        first_code="%(prefix)s || lpad((1 + (substr(j.title, 2)::int - 1) * (%(size)s / %(runs)s))::text, 10, '0')",
        last_code="%(prefix)s || lpad((substr(j.title, 2)::int * (%(size)s / %(runs)s))::text, 10, '0')",
        codes="greatest(1, %(size)s / %(runs)s)",
    ),
    fill.insert(
        CodeChange,
        "FROM authcodes_printrun r WHERE r.batch_id = %(batch)s ORDER BY r.id",
        brand_id="%(brand)s",
        batch_id="%(batch)s",
        kind="'delivered'",
        first_code="r.first_code",
        last_code="r.last_code",
        codes="r.codes",
    ),
)


def measure(scale: Scale) -> list[Figure]:
    size, samples = scale.pick((1_000_000, 20), (100_000, 10), (2_000, 0))
    world.use_database("bench_batches", new=True)
    brand = factories.brand(time_zone="Asia/Kolkata")
    product = factories.product(brand)
    large, small = filled(brand, product, "L", size), filled(brand, product, "S", 1000)
    rollups.catch_up(brand=brand, at=timezone.now())
    world.run("VACUUM ANALYZE")
    with override_settings(ALLOWED_HOSTS=["*"]):
        return pages(browser(owner_of(brand)), large, small, samples)


def filled(brand: Brand, product: Product, prefix: str, size: int) -> BatchRange:
    prefixes.reserve(brand=brand, prefix=prefix, at=timezone.now())
    batch = BatchRange.objects.create(
        brand=brand,
        range_name=f"Batch {prefix}",
        product=product,
        quantity=size,
        prefix=prefix,
        generated_count=size,
        first_code=f"{prefix}{1:010}",
        last_code=f"{prefix}{size:010}",
    )
    values = {"brand": brand.pk, "batch": batch.pk, "product": product.pk, "prefix": prefix, "size": size}
    world.run("SET session_replication_role = replica")
    for statement in FILL:
        world.run(statement, {**values, "runs": min(RUNS, size)})
    world.run("RESET session_replication_role")
    return batch


def pages(client: Client, large: BatchRange, small: BatchRange, samples: int) -> list[Figure]:
    part = {"first": large.first_code, "last": f"{large.prefix}{large.quantity // 10:010}"}
    cases = {f"tab {name}": {"tab": name} for name in ("codes", "prints", "scans", "history", "settings")}
    cases |= {"a tenth of its codes": part}
    figures, slowest, most = [], 0.0, 0
    p50: dict[str, list[float]] = {}
    for what, query in cases.items():
        times, queries = sampled(client, address(large, query), samples)
        p95 = quantiles(times, n=20)[-1] if samples > 1 else times[0]
        p50[what] = [median(times)]
        slowest, most = max(slowest, p95), max(most, queries)
        figures.append(Figure(PART, what, p95, "ms", SLOWEST_MS, False, note=f"p95; {queries} queries"))
        say(figures[-1].line)
    times, _queries = sampled(client, address(small, {"tab": "codes"}), samples)
    figures.append(Figure(PART, "the most queries of these", most, "", MAX_QUERIES, at_least=False))
    figures.append(ratio(PART, f"tab codes: {large.quantity:,} codes / 1,000", p50["tab codes"], [median(times)]))
    return figures


def address(batch: BatchRange, query: dict[str, Any]) -> str:
    return f"{reverse('admin:authcodes_batchrange_change', args=[batch.pk])}?{urlencode(query)}"
