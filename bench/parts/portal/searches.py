"""The portal's searches and filters by parts of a name, with 1,000,000 codes and scans and 300,000 members."""

from statistics import median, quantiles
from typing import Any

from django.test.utils import override_settings
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode

from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from authcodes.rollups import rollups as scan_rollups
from bench import world
from bench.harness import Figure, Scale, say
from bench.parts.portal import home, lists
from brands.models.tenants import Brand
from loyalty.programme import rollups as programme_rollups
from tests.support import factories

PART = "searches"
SIZE = 1_000_000
SLOWEST_MS = 300
SLOWEST_BOX_MS = 50
BOX = "search box: "

# A realistic distribution: 200 first names, 5,000 last names, three e-mail providers.
NAME_CUSTOMERS = """
    UPDATE brands_user u
       SET first_name = 'First' || n %% 200, last_name = 'Last' || n %% 5000,
           email = 'first' || n %% 200 || '.last' || n %% 5000 || '.' || u.id || '@mail' || n %% 3 || '.example'
      FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM brands_user WHERE registered_brand_id = %(brand)s) m
     WHERE m.id = u.id
"""
# One code in ten is stored at one of 500 places, one in a hundred was sent to one of 50.
STORE_CODES = """
    UPDATE authcodes_authcode
       SET inventory_location = 'Depot ' || id %% 500,
           location = CASE WHEN id %% 100 = 0 THEN 'Shop ' || id %% 50 ELSE '' END
     WHERE brand_id = %(brand)s AND id %% 10 = 0
"""


def measure(scale: Scale) -> list[Figure]:
    size, samples = scale.pick((SIZE, 20), (100_000, 5), (2_000, 0))
    world.use_database("bench_searches", new=True)
    brand = factories.brand(time_zone="Asia/Kolkata")
    filled(brand, size, "D")
    filled(factories.brand(), size // 5, "N")
    world.run("VACUUM ANALYZE")
    with override_settings(ALLOWED_HOSTS=["*"]):
        return figures(brand, samples)


def filled(brand: Brand, size: int, prefix: str) -> None:
    """Add codes, scans and three members for every ten of them; roll up closed days."""
    lists.filled(brand, size, prefix)
    world.run("DELETE FROM brands_customerword WHERE brand_id = %(brand)s", {"brand": brand.pk})
    world.add_customers(brand, size * 2 // 10, called=f"{prefix.lower()}more", named=NAME_CUSTOMERS)
    world.run(STORE_CODES, {"brand": brand.pk})
    world.run(home.ENROL, {"brand": brand.pk, "days": home.DAYS})
    scan_rollups.rebuild(brand=brand, at=timezone.now())
    programme_rollups.rebuild(brand=brand, at=timezone.now())


def figures(brand: Brand, samples: int) -> list[Figure]:
    client = lists.browser(lists.owner_of(brand))
    rows: list[Figure] = []
    slowest: dict[str, float] = {}
    for what, address in cases().items():
        times, queries = lists.sampled(client, address, samples)
        p95 = quantiles(times, n=20)[-1] if samples > 1 else times[0]
        slowest[what] = p95
        rows.append(Figure(PART, what, p95, "ms", note=f"p95; p50 {median(times):.0f} ms; {queries} queries"))
        say(rows[-1].line)
    in_box = max(p95 for what, p95 in slowest.items() if what.startswith(BOX))
    return [
        *rows,
        Figure(PART, "the slowest p95 of these", max(slowest.values()), "ms", SLOWEST_MS, at_least=False),
        Figure(PART, "the slowest p95 of the search box", in_box, "ms", SLOWEST_BOX_MS, at_least=False),
    ]


def cases() -> dict[str, str]:
    """The measured addresses, by what they search for."""
    codes, scans = lists.list_of(AuthCode), lists.list_of(Scan)
    members, ledger = (reverse(f"admin:loyalty_{name}_changelist") for name in ("userpoints", "loyaltytransaction"))
    index, offered, box = (reverse(f"admin:{name}") for name in ("index", "authcodes_authcode_places", "search"))
    query_by_name: dict[str, tuple[str, dict[str, Any]]] = {
        "scans: location, a part": (scans, {"location": "city 60"}),
        "scans: location, a region": (scans, {"location": "region 7"}),
        "scans: location, every place": (scans, {"location": "city"}),
        "scans: location, no place": (scans, {"location": "nowhere"}),
        "codes: first scan location, a part": (codes, {"first_scan_location": "city 60"}),
        "codes: first scan location, a region": (codes, {"first_scan_location": "region 7"}),
        "codes: first scan location, no place": (codes, {"first_scan_location": "nowhere"}),
        "codes: inventory location, a part": (codes, {"inventory_location": "depot 110"}),
        "codes: inventory location, every place": (codes, {"inventory_location": "depot"}),
        "codes: location, a part": (codes, {"location": "shop 10"}),
        "codes: search, inventory location": (codes, {"q": "depot 110"}),
        "codes: search, a customer": (codes, {"q": "first17 last17"}),
        "overview: location, a part": (index, {"location": "city 60"}),
        "overview: location, a region": (index, {"location": "region 7"}),
        "suggestions: scans": (offered, {"q": "ci"}),
        "suggestions: inventory location": (offered, {"q": "de", "of": "inventory_location"}),
        "members: a last name": (members, {"q": "last4217"}),
        "members: a first name": (members, {"q": "first17"}),
        "members: both names": (members, {"q": "first17 last1217"}),
        "members: a part of an address": (members, {"q": "first17.last1217@mail"}),
        "members: what a third has": (members, {"q": "mail1"}),
        "members: what all have": (members, {"q": "example"}),
        "members: two words that all have": (members, {"q": "example mail"}),
        "members: nobody": (members, {"q": "nobody"}),
        "scans: search, a customer": (scans, {"q": "first17 last1217"}),
        "ledger: search, a customer": (ledger, {"q": "last1217"}),
        "ledger: search, too many": (ledger, {"q": "example"}),
        f"{BOX}nothing typed": (box, {"s": ""}),
        f"{BOX}a code": (box, {"s": "D050000000077"}),
        f"{BOX}how all codes begin": (box, {"s": "D05"}),
        f"{BOX}a page": (box, {"s": "batches"}),
        f"{BOX}the guide": (box, {"s": "signing in"}),
        f"{BOX}whose points": (box, {"s": "adjust points of last1217"}),
        f"{BOX}nothing": (box, {"s": "no such thing"}),
        f"{BOX}a last name": (box, {"s": "last1217"}),
        f"{BOX}what all have": (box, {"s": "example"}),
    }
    return {what: f"{address}?{urlencode(query)}" for what, (address, query) in query_by_name.items()}
