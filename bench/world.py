"""Fills a database with a brand, its customers, codes and history, for every benchmark."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import redis
from django.conf import settings
from django.db import connection
from django.utils import timezone

from authcodes.codes import batches
from authcodes.codes.batches import BatchSettings
from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.models.products import Product
from authcodes.models.scans import Scan
from bench import fill, rule_set
from bench.harness import EMPTY, Scale, data_dir, say
from brands.identity import tokens
from brands.models.customer_word import CustomerWord
from brands.models.people import User
from brands.models.tenants import Brand
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from tests.support import factories

CUSTOMERS = 10_000
TOKENS = 2_000
PREFIX = "B"
WIDTH = 10

ADD_USERS = fill.insert(
    User,
    "FROM generate_series(1, %(count)s) i RETURNING id",
    password="'!'",
    email="%(called)s || i || '@example.com'",
    registered_brand_id="%(brand)s",
)
ADD_MEMBERS = fill.insert(UserPoints, "FROM person", user_id="id", brand_id="%(brand)s", current_level="'Bronze'")
ADD_CUSTOMERS = f"WITH person AS ({ADD_USERS}) {ADD_MEMBERS}"

# As the triggers would for each customer.
ADD_SEARCH_INDEX = fill.insert(
    CustomerWord,
    """
      FROM user_points a JOIN brands_user u ON u.id = a.user_id,
           LATERAL customer_words(concat_ws(' ', u.email, u.first_name, u.last_name)) AS w (word)
     WHERE a.brand_id = %(brand)s
        ON CONFLICT DO NOTHING
    """,
    brand_id="%(brand)s",
    user_id="u.id",
    word="w.word",
)

# A ledger entry of `past`.
EARNED = {
    "brand_id": "%(brand)s",
    "user_point_id": "user_point_id",
    "points_earned": "10",
    "reason": "'earned'",
    "reason_id": "code",
    "note": "'Points for scanning a product'",
    "created_at": "at",
    "updated_at": "at",
}

# Every scanned code is also awarded and delivered: one statement per table, without foreign key checks.
HISTORY = (
    """
    CREATE TEMPORARY TABLE past AS
    SELECT c.id AS code_id, c.code, a.user_id, a.user_point_id, uuidv7() AS scan_id,
           now() - interval '1 day' + make_interval(secs => n * 0.05) AS at
      FROM (SELECT id, code, row_number() OVER (ORDER BY id) AS n FROM authcodes_authcode
             WHERE batch_id = %(batch)s AND scan_count > 0) c
      JOIN (SELECT user_id, user_point_id, row_number() OVER (ORDER BY user_point_id) - 1 AS k FROM user_points
             WHERE brand_id = %(brand)s) a ON a.k = c.n %% %(customers)s
    """,
    fill.insert(
        Scan,
        "FROM past ORDER BY at",
        scan_id="scan_id",
        brand_id="%(brand)s",
        auth_code_id="code_id",
        code="code",
        user_id="user_id",
        batch_id="%(batch)s",
        product_id="%(product)s",
        outcome="'success'",
        reason="'accepted'",
        points_status="'awarded'",
        points_promised="10",
        points_awarded="10",
        scan_count="1",
        latitude="18.52",
        longitude="73.85",
        location="'Pune, Maharashtra'",
        located_at="at",
        device="'bench'",
        app_version="'1'",
        scanned_at="at",
    ),
    fill.insert(LoyaltyTransaction, "FROM past ORDER BY at", **EARNED),
    fill.insert(
        Event,
        "FROM past ORDER BY at",
        event_id="scan_id",
        source="'service.customer-app'",
        detail_type="'scan-auth'",
        brand_id="%(brand)s",
        account="'0'",
        region="'local'",
        time="at",
        detail="""'{"payload": {}}'""",
        status="'done'",
        attempts="1",
        due_at="at",
        give_up_at="at",
        created_at="at",
        finished_at="at",
    ),
    """
    UPDATE user_points a SET points = p.sum, points_earned = p.sum
      FROM (SELECT user_point_id, sum(10) AS sum FROM past GROUP BY 1) p WHERE p.user_point_id = a.user_point_id
    """,
    "DROP TABLE past",
)

# Fresh codes are scattered among the scanned ones.
MIXED_CODES = fill.insert(
    AuthCode,
    "FROM generate_series(1, %(count)s) i",
    code="%(prefix)s || lpad(i::text, %(width)s, '0')",
    brand_id="%(brand)s",
    batch_id="%(batch)s",
    product_id="%(product)s",
    scan_count="(i %% %(every)s <> 0)::int",
    first_scan_at="CASE WHEN i %% %(every)s <> 0 THEN now() END",
)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A brand with `quantity` unscanned codes at first; the first `used` may have been scanned since."""

    quantity: int
    tokens: Path

    def take(self, count: int) -> int:
        """Reserve `count` codes. Returns the place of the first of them in scanning order."""
        cursor = data_dir() / "next_code"
        first = int(cursor.read_text()) if cursor.exists() else 0
        if first + count > self.quantity:
            message = f"only {self.quantity:,} codes were made, {first + count:,} are wanted"
            raise RuntimeError(message)
        cursor.write_text(str(first + count))
        return first

    def code(self, place: int) -> str:
        """Scattered over the batch: consecutive scans are not adjacent in the index."""
        return f"{PREFIX}{(place * 7_368_787) % self.quantity:0{WIDTH}}"


def ensure(scale: Scale) -> Scenario:
    """The database's only world, created by the first benchmark."""
    codes, customers = scale.pick((1_000_000, CUSTOMERS), (300_000, CUSTOMERS), (2_000, 50))
    file_of_scenario = data_dir() / "world.json"
    if not file_of_scenario.exists():
        say(f"making {codes:,} codes ...")
        brand = build(customers=customers, codes=codes)
        # Production tables are never empty, and PostgreSQL plans differently on empty ones.
        few = customers // 10
        mix(brand, brand.products.get(), customers=customers, fresh=few, scanned=20 * few, prefix="A")
        file = data_dir() / "tokens"
        file.write_text("".join(f"{token}\n" for token in access_tokens(brand)))
        file_of_scenario.write_text(json.dumps({"quantity": codes, "tokens": str(file)}))
    stored = json.loads(file_of_scenario.read_text())
    run("VACUUM ANALYZE")
    return Scenario(stored["quantity"], Path(stored["tokens"]))


def build(*, customers: int, codes: int, history: int = 0) -> Brand:
    """A brand with levels, a campaign with milestones, customers, fresh codes, and `history` old scans."""
    brand = factories.brand()
    for name, threshold in (("Bronze", 0), ("Silver", 100), ("Gold", 1_000_000)):
        factories.level(brand, name, threshold)
    campaign = factories.campaign(brand, target_value=10)
    factories.milestone(campaign, 5)
    factories.milestone(campaign, 10)
    product = factories.product(brand, retail_price=100)
    rule_set.add(brand, rule_set.requested_count())
    add_customers(brand, customers)
    run("ANALYZE")
    if history:
        mix(brand, product, customers=customers, fresh=codes, scanned=history, prefix=PREFIX)
    else:
        batch = batch_of(brand, product, quantity=codes, prefix=PREFIX)
        batches.generate(batch_id=batch.pk, at=timezone.now())
    run("VACUUM ANALYZE")
    return brand


def mix(brand: Brand, product: Product, *, customers: int, fresh: int, scanned: int, prefix: str) -> None:
    """A batch of both kinds of codes; `scanned` is a multiple of `fresh`."""
    count = fresh + scanned
    batch = batch_of(brand, product, quantity=count, prefix=prefix)
    own = {"brand": brand.pk, "batch": batch.pk, "product": product.pk, "prefix": prefix, "width": WIDTH}
    amounts = {"customers": customers, "count": count, "every": count // fresh}
    run("SET session_replication_role = replica")
    for statement in (MIXED_CODES, *HISTORY):
        run(statement, {**own, **amounts})
    run("RESET session_replication_role")
    BatchRange.objects.filter(pk=batch.pk).update(generated_count=count)


def batch_of(brand: Brand, product: Product, *, quantity: int, prefix: str) -> BatchRange:
    batch_settings = BatchSettings(
        range_name=f"Bench {prefix}",
        quantity=quantity,
        product=product,
        prefix=prefix,
        starting_number=0,
        number_width=WIDTH,
        signed=False,
    )
    return batches.create_batch(brand=brand, batch_settings=batch_settings, at=timezone.now())


def access_tokens(brand: Brand) -> list[str]:
    """Tokens of customers scattered over all of the brand's."""
    users = list(User.objects.filter(registered_brand=brand).order_by("pk"))
    now = timezone.now()
    return [tokens.issue(user=user, brand=brand, at=now).access for user in users[:: max(1, len(users) // TOKENS)]]


def discard_pending() -> None:
    """Leave no work for the workers of the next benchmark."""
    run("DELETE FROM events_event WHERE status = 'pending'")
    run("UPDATE authcodes_scan SET points_status = 'not_eligible' WHERE points_status = 'pending'")
    redis.Redis.from_url(settings.REDIS_URL).flushdb()


def use_database(name: str, *, new: bool = False) -> None:
    """Switch to another database of the same server; a `new` one has empty tables."""
    if new:
        use_database("postgres")
        run(f'DROP DATABASE IF EXISTS "{name}"')
        run(f'CREATE DATABASE "{name}" TEMPLATE "{EMPTY}"')
    connection.close()
    connection.settings_dict["NAME"] = name


def add_customers(brand: Brand, count: int, *, called: str = "bench", named: str = "") -> None:
    """Members with addresses such as bench1@example.com; `named`: a statement that gives them names."""
    run("SET statement_timeout = 0")
    run("SET session_replication_role = replica")
    run(ADD_CUSTOMERS, {"brand": brand.pk, "called": called, "count": count})
    if named:
        run(named, {"brand": brand.pk})
    run(ADD_SEARCH_INDEX, {"brand": brand.pk})
    run("RESET session_replication_role")


def run(statement: str, parameters: Mapping[str, object] | None = None) -> None:
    """Run as the tables' owner, who has rights that the application lacks."""
    with connection.as_owner(), connection.cursor() as cursor:
        cursor.execute(statement, parameters)


def value(statement: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        result: int = cursor.fetchone()[0]
        return result
