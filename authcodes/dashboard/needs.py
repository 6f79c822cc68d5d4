"""What needs somebody at their brands, and how far a new brand is."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from authcodes.dashboard.figures import rows_of
from brands.models.tenants import Brand
from core.db.statements import query

MAX_OF_A_KIND = 5
# The kinds, and the models whose rows somebody must see for them.
LABELS = {
    "recalls": "authcodes.recall",
    "events": "events.event",
    "webhooks": "loyalty.webhookendpoint",
    "certificates": "loyalty.walletissuer",
    "batches": "authcodes.batchrange",
    "rewards": "loyalty.reward",
    "campaigns": "campaigns.campaign",
    "reports": "authcodes.fakereport",
    "approvals": "loyalty.pointsapproval",
}


@dataclass(frozen=True, slots=True)
class Need:
    """A row, or rows of a brand that are counted. What `number` and `at` mean depends on the kind."""

    kind: str
    brand_id: int
    row_id: int | None
    name: str
    number: int
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Setup:
    """What a brand has of what it needs. `code_id`: of a code to try."""

    appearance: bool
    hostname: bool
    level: bool
    product: bool
    batch: bool
    reward: bool
    messages: bool
    colleague: bool
    scan: bool
    code_id: int | None


FETCH_NEEDS = query("authcodes/dashboard/sql/fetch_needs.sql", returns=Need, most=str(MAX_OF_A_KIND))
FETCH_SETUP = query("authcodes/dashboard/sql/fetch_setup.sql", returns=Setup)


def needs(*, of: Mapping[str, Iterable[Brand]], by: int, at: datetime) -> list[Need]:
    """By the names of LABELS, the brands at which somebody sees such rows. One statement; none where there are none."""
    brand_ids = {name: [brand.pk for brand in of.get(name, ())] for name in LABELS}
    if not any(brand_ids.values()):
        return []
    return [Need(*row) for row in rows_of(FETCH_NEEDS.text, {**brand_ids, "by": by, "now": at})]


def setup_of(brand: Brand, *, at: datetime) -> Setup:
    """One statement."""
    return Setup(*rows_of(FETCH_SETUP.text, {"brand": brand.pk, "now": at})[0])
