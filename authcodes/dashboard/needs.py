"""Alerts for the brands of a user, and the setup state of a new brand."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from authcodes.dashboard.figures import rows_of
from brands.models.tenants import Brand
from core.db.statements import query

MAX_OF_A_KIND = 5
# The kinds of alerts, and the model that a user must be allowed to view for each.
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
    """A row, or a count of rows of a brand. The meaning of `number` and `at` depends on the kind."""

    kind: str
    brand_id: int
    row_id: int | None
    name: str
    number: int
    at: datetime | None


@dataclass(frozen=True, slots=True)
class Setup:
    """Which parts of its setup a brand has. `code_id`: a code to try out."""

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
    """Alerts for the brands whose rows the user may see, by the names in LABELS. At most one statement."""
    brand_ids = {name: [brand.pk for brand in of.get(name, ())] for name in LABELS}
    if not any(brand_ids.values()):
        return []
    return [Need(*row) for row in rows_of(FETCH_NEEDS.text, {**brand_ids, "by": by, "now": at})]


def setup_of(brand: Brand, *, at: datetime) -> Setup:
    """One statement."""
    return Setup(*rows_of(FETCH_SETUP.text, {"brand": brand.pk, "now": at})[0])
