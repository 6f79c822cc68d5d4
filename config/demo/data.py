"""The demo: two brands with one of everything that people try first. It changes no row that it did not create."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import transaction
from django.db.models import F, Max

from authcodes.codes import batches, signed_tags
from authcodes.codes.batches import BatchSettings
from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode, AuthCodeQuerySet
from authcodes.models.products import Product
from authcodes.recalls import recalls
from brands.models.people import StaffRole, User
from brands.models.tenants import Brand, BrandHostname
from campaigns.models.campaigns import Campaign, Milestone
from campaigns.models.earning_rules import EarningRule
from config.demo import event_kinds
from core.db import advisory_locks
from core.db.advisory_locks import Lock
from loyalty.models.levels import BrandLevel, RewardType
from loyalty.models.programme.referrals import ReferralProgramme
from loyalty.models.programme.segments import Segment
from loyalty.points import accounts

# RFC 2606 reserves .example, so nobody else can own an address in it: these rows are the demo's.
DOMAIN = "demo.example"
SUPERUSER = f"admin@{DOMAIN}"
CUSTOMERS = {"anna": "Anna Adler", "ben": "Ben Brown", "cleo": "Cleo Cruz"}
STAFF = {"olivia": "Olivia Owens", "mark": "Mark Miller", "petra": "Petra Prinz", "sami": "Sami Sole"}
ROLES = dict(zip(STAFF, StaffRole.Role, strict=True))

FRESH = "Demo codes"  # followed by a number: ordinary codes, ready to be scanned
FRESH_AT_LEAST = 50
FRESH_BATCH = 500

# The same for each brand; evaluated by the worker within a minute.
SEGMENTS: dict[str, list[dict[str, Any]]] = {
    "New members": [{"field": "days_since_enrolled", "operator": "at_most", "value": 30}],
    "Silent for two months": [{"field": "days_since_last", "operator": "at_least", "value": 60}],
    "Scans often": [{"field": "scans", "operator": "at_least", "value": {"count": 3, "days": 30}}],
}

POINTS, PERCENT = RewardType.POINTS, RewardType.PERCENTAGE
Kind, Effect, Type = EarningRule.Kind, EarningRule.Effect, Campaign.Type


EVERY_HUNDRED: dict[str, Any] = {
    "step_by": Campaign.StepBy.AMOUNT,
    "is_repeatable": True,
    "budget": 5_000,
    "is_active": False,
}


class DemoConflictError(Exception):
    """Something that the demo needs exists already and is not the demo's; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Goal:
    """A campaign: milestones as (threshold, reward, points, auto_claim); `more` has other fields."""

    name: str
    type: Campaign.Type
    target: int
    milestones: Sequence[tuple[int, str, int, bool]]
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """A brand of the demo. Its first hostname is the primary one; its codes belong to its first campaign.

    Levels are (name, threshold, type, value), products (SKU, title, price, points), colours (background, text, accent),
    rules (kind, type, value, active).
    """

    name: str
    slug: str
    time_zone: str
    hostnames: Sequence[str]
    colours: tuple[str, str, str]
    prefix: str
    levels: Sequence[tuple[str, int, RewardType, int]]
    products: Sequence[tuple[str, str, str | None, int | None]]
    campaigns: Sequence[Goal]
    rules: Sequence[tuple[EarningRule.Kind, RewardType | EarningRule.Effect, int, bool]]

    @property
    def domain(self) -> str:
        return f"{self.slug.removeprefix('demo-')}.{DOMAIN}"

    def address(self, name: str) -> str:
        return f"{name}@{self.domain}"

    @property
    def addresses(self) -> list[str]:
        return [self.address(name) for name in [*CUSTOMERS, *STAFF]]


PLANS = [
    Plan(
        name="Aurora Skincare",
        slug="demo-aurora",
        time_zone="Europe/Berlin",
        hostnames=["aurora.localhost", "app.aurora.localhost"],
        colours=("#fffaf7", "#33202b", "#9c2c5c"),
        prefix="AUR",
        levels=[("Bronze", 0, POINTS, 10), ("Silver", 100, POINTS, 15), ("Gold", 500, POINTS, 25)],
        products=[
            ("AUR-CREAM", "Night cream", "49.99", None),
            ("AUR-SERUM", "Vitamin serum", "89.50", None),
            ("AUR-SOAP", "Hand soap", "7.90", None),
            ("AUR-GIFT", "Gift set", "120.00", 50),
        ],
        campaigns=[
            Goal("Five for a facial", Type.SCAN, 5, [(3, "25 points", 25, True), (5, "A facial", 0, False)]),
            Goal("Order three times", Type.ORDER, 3, [(3, "Free delivery", 0, True)]),
            # Off, like most of the demo's rules, so that it does not surprise anyone who tries the API.
            Goal("Every 100 € of care", Type.ORDER, 100, [(100, "10 points", 10, True)], EVERY_HUNDRED),
        ],
        # The rule for logins is off, so that a login does not change the balance of anyone who tries the API.
        rules=[
            (Kind.ORDER, PERCENT, 5, True),
            (Kind.PROFILE, POINTS, 15, True),
            (Kind.LOGIN, POINTS, 2, False),
            (Kind.SCAN, Effect.MULTIPLIER, 2, False),
            (Kind.MILESTONE, Effect.BONUS, 10, False),
            (Kind.WELCOME, POINTS, 10, False),
            (Kind.BIRTHDAY, POINTS, 25, False),
        ],
    ),
    Plan(
        name="Bistro Roma",
        slug="demo-bistro",
        time_zone="America/New_York",
        hostnames=["bistro.localhost", "app.bistro.localhost"],
        colours=("#1d2420", "#f4f1e8", "#e9b44c"),
        prefix="BIS",
        levels=[("Guest", 0, POINTS, 5), ("Regular", 50, PERCENT, 10), ("Family", 300, PERCENT, 20)],
        products=[
            ("BIS-COFFEE", "Coffee beans", "14.50", None),
            ("BIS-PASTA", "Fresh pasta", "6.90", None),
            ("BIS-WINE", "House wine", "32.00", 40),
            ("BIS-CARD", "Gift card", None, None),
        ],
        campaigns=[
            Goal("Ten bags of coffee", Type.SCAN, 10, [(2, "10 points", 10, True), (10, "A free bag", 0, False)]),
            Goal("Thirty visits", Type.LOGIN, 30, [(30, "Dinner for two", 100, False)]),
        ],
        rules=[(Kind.ORDER, POINTS, 20, True), (Kind.LOGIN, POINTS, 1, True)],
    ),
]


def lock() -> None:
    """Lock the demo until this transaction ends, against other processes that create or refresh it.

    So bin/run and a `manage.py demo` at the same time do not create it twice.
    """
    advisory_locks.lock(Lock.DEMO)


def ensure(*, at: datetime) -> list[Brand]:
    """The demo's brands, in the order of PLANS. Creates what is missing, people without passwords.

    Raises DemoConflictError if a slug, a hostname or an address belongs to something that the demo did not create.
    """
    with transaction.atomic():
        lock()
        rows = {brand.slug: brand for brand in Brand.objects.filter(slug__in=[plan.slug for plan in PLANS])}
        if not rows:
            check_not_taken(User.objects.filter(email=SUPERUSER).exists(), f"The address {SUPERUSER}")
            User.objects.create_superuser(SUPERUSER, first_name="Ada", last_name="Admin")
        return [brand_of(plan, rows.get(plan.slug), at) for plan in PLANS]


def brand_of(plan: Plan, brand: Brand | None, at: datetime) -> Brand:
    """`brand` if the demo created it; if it is None, a new brand of `plan`."""
    people = User.objects.filter(email__in=plan.addresses)
    if brand:
        check_not_taken(not people.filter(registered_brand=brand).exists(), f"The brand {plan.slug}")
        return brand
    check_not_taken(people.exists(), f"An address at {plan.domain}")
    taken = BrandHostname.objects.filter(hostname__in=plan.hostnames).values_list("hostname", flat=True).first()
    check_not_taken(bool(taken), f"The hostname {taken}")
    return build(plan, at)


def check_not_taken(taken: bool, what: str) -> None:  # noqa: FBT001 - reads as a sentence
    if taken:
        message = f"{what} is there already, and not the demo's. Rename or remove it, or run with DEMO=0."
        raise DemoConflictError(message)


def build(plan: Plan, at: datetime) -> Brand:
    background, text, accent = plan.colours
    brand = Brand.objects.create(
        name=plan.name,
        slug=plan.slug,
        time_zone=plan.time_zone,
        support_email=f"help@{plan.domain}",
        colour_background=background,
        colour_text=text,
        colour_accent=accent,
        transfers_allowed=True,
        created_at=at,
    )
    for position, hostname in enumerate(plan.hostnames):
        BrandHostname.objects.create(brand=brand, hostname=hostname, is_primary=position == 0)
    for name, threshold, kind, value in plan.levels:
        BrandLevel.objects.create(
            brand=brand, name=name, threshold=threshold, scan_reward_type=kind, scan_reward_value=value
        )
    ReferralProgramme.objects.create(brand=brand, is_active=True, referrer_points=20, friend_points=10)
    for rule, reward_type, value, active in plan.rules:
        state = EarningRule.State.ACTIVE if active else EarningRule.State.DRAFT
        EarningRule.objects.create(brand=brand, kind=rule, reward_type=reward_type, reward_value=value, state=state)
    event_kinds.build(brand)
    for name, conditions in SEGMENTS.items():
        Segment.objects.create(brand=brand, name=name, conditions={"all": conditions})
    build_users(plan, brand, at)
    products = [build_product(brand, *product) for product in plan.products]
    campaigns = [build_campaign(brand, goal) for goal in plan.campaigns]
    build_batches(plan, brand, products, campaigns[0], at)
    return brand


def build_users(plan: Plan, brand: Brand, at: datetime) -> None:
    """Create customers and staff. Customers cannot be removed, so they identify the brand as the demo's later."""
    for name, full_name in CUSTOMERS.items():
        customer = build_user(plan, name, full_name, registered_brand=brand)
        accounts.enrol(user_id=customer.pk, brand_id=brand.pk, at=at)
    for name, full_name in STAFF.items():
        staff_user = build_user(plan, name, full_name, is_staff=True)
        StaffRole.objects.create(user=staff_user, brand=brand, role=ROLES[name])


def build_user(plan: Plan, name: str, full_name: str, **fields: object) -> User:
    first_name, _, last_name = full_name.partition(" ")
    return User.objects.create_user(plan.address(name), None, first_name=first_name, last_name=last_name, **fields)


def build_product(brand: Brand, sku: str, title: str, price: str | None, points: int | None) -> Product:
    retail_price = Decimal(price) if price else None
    return Product.objects.create(
        brand=brand, sku=sku, title=title, retail_price=retail_price, redeem_point_value=points
    )


def build_campaign(brand: Brand, goal: Goal) -> Campaign:
    campaign = Campaign.objects.create(
        brand=brand, campaign_name=goal.name, type=goal.type, target_value=goal.target, **goal.more
    )
    for threshold, reward, points, auto_claim in goal.milestones:
        Milestone.objects.create(
            campaign=campaign, threshold=threshold, reward_name=reward, reward_points=points, auto_claim=auto_claim
        )
    return campaign


def build_batches(plan: Plan, brand: Brand, products: Sequence[Product], campaign: Campaign, at: datetime) -> None:
    """Create one batch of each kind; top_up creates the ordinary ones."""
    first, second, third, fourth = products
    a_month_ago = at - timedelta(days=30)
    expired_on = brand.day_at(a_month_ago)
    mixed = BatchSettings(
        range_name="Three scans each", quantity=50, prefix=f"{plan.prefix}3-", number_width=5, signed=False
    )
    kinds = [
        (replace(mixed, product=second, scan_limit=3, campaign=campaign), at),
        (named(mixed, "Unlimited scans", f"{plan.prefix}U-", product=third, scan_limit=None), at),
        (named(mixed, "Points of their own", f"{plan.prefix}P-", product=fourth, points_per_scan=75), at),
        (named(mixed, "Not assigned yet", f"{plan.prefix}N-"), at),
        (named(mixed, "Expired", f"{plan.prefix}X-", product=first, expiration_date=expired_on), a_month_ago),
        (named(mixed, "Recalled", f"{plan.prefix}R-", product=second), at),
    ]
    if signed_tags.current_version() is not None:
        kinds.append((named(mixed, "Signed", f"{plan.prefix}S-", product=first, signed=True), at))
    for requested, moment in kinds:
        batch = build_batch(brand, requested, moment)
        if requested.range_name == "Recalled":
            recall(batch, plan, at)


def named(like: BatchSettings, name: str, prefix: str, **settings: object) -> BatchSettings:
    return replace(like, range_name=name, prefix=prefix, **settings)  # type: ignore[arg-type]


def build_batch(brand: Brand, batch_settings: BatchSettings, at: datetime) -> BatchRange:
    batch = batches.create_batch(brand=brand, batch_settings=batch_settings, at=at)
    batches.generate(batch_id=batch.pk, at=at)
    return batch


def recall(batch: BatchRange, plan: Plan, at: datetime) -> None:
    recalls.recall_batch(
        batch=batch,
        recall_id=f"{plan.prefix}-RC-1",
        contact=f"help@{plan.domain}",
        message="Please stop using this product and bring it back: we refund it.",
        reason="Made up for the demo.",
        at=at,
    )


def top_up(*, plan: Plan, brand: Brand, at: datetime) -> None:
    """Make sure that the brand has at least FRESH_AT_LEAST unscanned codes."""
    if fresh_codes(brand).count() >= FRESH_AT_LEAST:
        return
    prefix = f"{plan.prefix}-"
    # The numbers continue after all batches with this prefix, even those that others created.
    taken = BatchRange.objects.filter(brand=brand, prefix=prefix).aggregate(
        end=Max(F("starting_number") + F("quantity"))
    )["end"]
    requested = BatchSettings(
        range_name=f"{FRESH} from {taken or 1}",
        quantity=FRESH_BATCH,
        prefix=prefix,
        starting_number=taken or 1,
        number_width=8,
        signed=False,
        product=Product.objects.filter(brand=brand).earliest("pk"),
        campaign=Campaign.objects.filter(brand=brand, type=Campaign.Type.SCAN).running(at).last(),
    )
    build_batch(brand, requested, at)


def fresh_codes(brand: Brand) -> AuthCodeQuerySet:
    """Codes of the demo's ordinary batches that scan as genuine, pay points and were never scanned."""
    return AuthCode.objects.unscanned().filter(
        batch__brand=brand,
        batch__range_name__startswith=FRESH,
        batch__scan_limit=1,
        batch__recall__isnull=True,
        batch__expiration_date__isnull=True,
        product__isnull=False,
        deactivated_at__isnull=True,
    )
