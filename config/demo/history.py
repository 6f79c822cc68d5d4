"""Three months of a demo brand's history, so that its pages have data to show.

Every action uses the functions that serve customers and staff, while the clock of this process is set to its moment in
the past. So the books add up, and every figure leads to existing rows.
"""

import random
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from django.utils import timezone

from authcodes.codes import batches, ranges
from authcodes.codes.batches import BatchSettings
from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.models.products import Product
from authcodes.printing import runs, selection
from authcodes.printing.request import PrintRequest
from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext, ScanLocation
from brands.models.people import StaffRole, User
from brands.models.tenants import Brand
from campaigns.models.campaigns import Campaign, Milestone
from config.demo.people import LIVES, City
from core.errors import DomainError
from events import delivery, leases, publishing
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.orders import CreditedOrder
from loyalty.models.programme.costs import PointCost
from loyalty.models.rewards import Redemption, Reward
from loyalty.points import accounts
from loyalty.rewards import redeem, till

DAYS = 91
HOURS = (7, 8, 9, 10, 11, 12, 12, 13, 14, 15, 16, 17, 17, 18, 18, 19, 19, 20, 20, 21, 22)
PHONES = ("iPhone 16", "iPhone 14", "Pixel 9", "Galaxy S25", "Galaxy A55", "Fairphone 6")
ORDER_SOURCE = "demo.shop"
DELIVERED_AT_ONCE = 100
LABELS = 200  # printed
Action = Callable[[datetime], object]


class History:
    """The random history of a brand, with a fixed seed: the same brand always has the same history."""

    def __init__(self, brand: Brand, domain: str, until: datetime) -> None:
        self.brand, self.domain, self.until = brand, domain, until
        self.life = LIVES[brand.slug]
        self.random = random.Random(self.life.seed)  # noqa: S311 - a demo, not a secret
        self.began = until - timedelta(days=DAYS)
        self.products = list(Product.objects.filter(brand=brand).order_by("pk"))
        staff = StaffRole.objects.filter(brand=brand).select_related("user")
        self.staff = {role.role: role.user for role in staff}
        self.customers: list[tuple[User, City]] = []
        self.codes: list[str] = []
        self.withdrawn: list[str] = []
        self.scanned: list[str] = []
        self.orders: list[tuple[User, str, Decimal]] = []

    def actions(self) -> Iterator[tuple[datetime, Action]]:
        """All actions with their moments, unordered."""
        yield self.began, self.prepare
        for position, name in enumerate(self.life.names):
            passed = (self.until - self.began) * (position / len(self.life.names)) * 0.9
            yield self.began + timedelta(days=1) + passed, partial(self.join, name)
        kinds = (self.scan_as_member, self.scan_as_guest, self.scan_again, self.scan_unknown, self.order, self.redeem)
        days = [self.random.triangular(2, DAYS, DAYS * 0.85) for _each in range(self.life.scans)]
        for day in days:
            yield self.moment(day), self.random.choices(kinds, (60, 14, 7, 3, 12, 6))[0]

    def moment(self, day: float) -> datetime:
        """A moment on a day of the history, at an hour at which people there are awake."""
        local = (self.began + timedelta(days=day)).astimezone(self.brand.zone)
        hour, minute, second = self.random.choice(HOURS), self.random.randrange(60), self.random.randrange(60)
        chosen = local.replace(hour=hour, minute=minute, second=second, microsecond=0)
        return min(max(chosen, self.began + timedelta(days=2)), self.until - timedelta(minutes=10))

    # --- Setup

    def prepare(self, at: datetime) -> None:
        first, second, third, fourth = self.products
        campaign = self.ended_campaign(at)
        running = Campaign.objects.filter(brand=self.brand, type=Campaign.Type.SCAN).running(at).last()
        base = BatchSettings(
            range_name="Spring edition", quantity=700, prefix=f"{self.life.prefix}-", signed=False, product=first,
            number_width=6, campaign=running,
        )  # fmt: skip
        made = [
            base,
            replace(base, range_name="Autumn edition", product=second, campaign=campaign, starting_number=701),
            replace(base, range_name="Gift sets", product=fourth, quantity=300, campaign=None, starting_number=1_401),
        ]
        for requested in made:
            self.codes += self.codes_of(self.make(requested, at))
        self.random.shuffle(self.codes)
        lot = replace(base, range_name="Lot 7", product=third, quantity=60, starting_number=1_701, campaign=None)
        self.withdrawn = self.codes_of(self.make(lot, at))
        PointCost.objects.create(brand=self.brand, valid_from=at.date(), cost=Decimal("0.01"))
        for name, cost, stock in self.life.rewards:
            Reward.objects.create(brand=self.brand, name=name, cost=cost, stock=stock, created_at=at)

    def ended_campaign(self, at: datetime) -> Campaign:
        campaign = Campaign.objects.create(
            brand=self.brand,
            campaign_name=self.life.ended_campaign,
            type=Campaign.Type.SCAN,
            target_value=4,
            starts_at=at,
            ends_at=self.until - timedelta(days=14),
        )
        for threshold, reward, points in ((2, "20 points", 20), (4, "A surprise", 0)):
            Milestone.objects.create(
                campaign=campaign, threshold=threshold, reward_name=reward, reward_points=points, auto_claim=points > 0
            )
        return campaign

    def make(self, requested: BatchSettings, at: datetime) -> BatchRange:
        batch = batches.create_batch(brand=self.brand, batch_settings=requested, at=at, by=self.staff.get("owner"))
        batches.generate(batch_id=batch.pk, at=at)
        return batch

    def deliver(self) -> None:
        """Deliver waiting points events. three_months.py ensures that none of them belong to other brands."""
        while waiting := leases.claim(limit=DELIVERED_AT_ONCE):
            with leases.holding(waiting):
                delivery.deliver_events(waiting)

    def print_labels(self) -> None:
        """Print labels of the first batch, by a job that begins when this transaction commits."""
        batch = BatchRange.objects.get(brand=self.brand, range_name="Spring edition")
        codes = self.codes_of(batch)
        printed = selection.of_range(ranges.resolve_range(batch=batch, first=codes[0], last=codes[LABELS - 1]))
        due = (timezone.now() + timedelta(days=5)).date()
        instructions = runs.PrintInstructions(due, "Matt labels, for the spring boxes")
        runs.start(
            selection=printed, print_request=PrintRequest(), by=self.staff.get("printer"), instructions=instructions
        )

    def codes_of(self, batch: BatchRange) -> list[str]:
        return list(AuthCode.objects.filter(batch=batch).order_by("pk").values_list("code", flat=True))

    # --- Customers' actions

    def join(self, name: str, at: datetime) -> None:
        first_name, _, last_name = name.partition(" ")
        customer = User.objects.create_user(
            f"{first_name}.{last_name}@{self.domain}".lower(),
            None,
            first_name=first_name,
            last_name=last_name,
            registered_brand=self.brand,
            date_joined=at,
        )
        accounts.enrol(user_id=customer.pk, brand_id=self.brand.pk, at=at)
        [city] = self.random.choices(self.life.cities, [each.weight for each in self.life.cities])
        self.customers.append((customer, city))

    def regular(self) -> tuple[User, City]:
        """A random customer; those who are earlier in the list come more often."""
        return self.customers[min(int(self.random.expovariate(2.2) * len(self.customers)), len(self.customers) - 1)]

    def scan(self, code: str, at: datetime, city: City, customer: User | None = None) -> None:
        near = ScanLocation(city.latitude + self.random.gauss(0, 0.04), city.longitude + self.random.gauss(0, 0.06))
        place = near if self.random.random() < 0.85 else ScanLocation()
        context = ScanContext(at, brand_id=self.brand.pk, place=place, device=self.random.choice(PHONES))
        if customer:
            context = replace(context, user_id=customer.pk)
        scan.scan(scanned=code, context=context)

    def scan_as_member(self, at: datetime) -> None:
        customer, city = self.regular()
        code = self.codes.pop()
        self.scanned.append(code)
        self.scan(code, at, city, customer)

    def scan_as_guest(self, at: datetime) -> None:
        code = self.codes.pop()
        self.scanned.append(code)
        self.scan(code, at, self.regular()[1])

    def scan_again(self, at: datetime) -> None:
        """Scan a code again, usually one that another customer scanned before."""
        customer, city = self.regular()
        self.scan(self.random.choice(self.scanned or self.codes), at, city, customer)

    def scan_unknown(self, at: datetime) -> None:
        self.scan(f"{self.life.prefix}-{self.random.randrange(500_000, 999_999)}", at, self.regular()[1])

    def order(self, at: datetime) -> None:
        customer, _city = self.regular()
        bought = self.random.sample([each for each in self.products if each.retail_price], 2)
        items: list[dict[str, Any]] = [
            {
                "productId": each.pk,
                "sku": each.sku,
                "quantity": self.random.randint(1, 2),
                "unitPrice": str(each.retail_price),
            }
            for each in bought
        ]
        subtotal = sum((Decimal(each["unitPrice"]) * each["quantity"] for each in items), Decimal(0))
        order_id = f"D-{len(self.orders) + 10_001}"
        self.orders.append((customer, order_id, subtotal))
        order = {"orderId": order_id, "subtotal": str(subtotal), "items": items}
        self.report(customer, "order-complete", {"type": "order", "order": order}, at)

    def return_order(self, at: datetime) -> None:
        """Return half of the latest order that has earned points."""
        self.deliver()
        order = CreditedOrder.objects.filter(brand=self.brand, user__in=self.people).latest("credited_at")
        [half] = [subtotal / 2 for _customer, order_id, subtotal in self.orders if order_id == order.order_id]
        payload = {"type": "order-return", "order": {"orderId": order.order_id}, "returnId": "1", "amount": str(half)}
        self.report(order.user, "order-returned", payload, at)

    def report(self, customer: User, kind: str, payload: dict[str, Any], at: datetime) -> None:
        event = Event(
            event_id=uuid.UUID(int=self.random.getrandbits(128), version=4),
            source=ORDER_SOURCE,
            detail_type=kind,
            brand=self.brand,
            time=at,
            detail={"arguments": {"brand_id": self.brand.pk, "user_id": customer.pk}, "payload": payload},
        )
        publishing.receive(event=event)

    def redeem(self, at: datetime) -> None:
        """Redeem the most expensive reward that a member can pay; hand over an earlier one."""
        self.deliver()
        offered = list(Reward.objects.offered(at).filter(brand=self.brand).order_by("-cost"))
        active = UserPoints.objects.filter(brand=self.brand, status=UserPoints.Status.ACTIVE, user__in=self.people)
        account = active.filter(points__gte=redeem.price_of(offered[-1])).order_by("-points").first()
        if account is None:
            return
        reward = next(each for each in offered if redeem.price_of(each) <= account.points)
        key = uuid.UUID(int=self.random.getrandbits(128), version=4)
        try:
            redeem.redeem(redeem.RedemptionRequest(self.brand.pk, account.user_id, reward.pk, key, at))
        except DomainError:  # out of stock
            return
        earlier = Redemption.objects.filter(user_point__in=active, status=Redemption.Status.ISSUED)
        for issued in earlier.filter(created_at__lt=at - timedelta(days=2)).order_by("pk")[:1]:
            till.use(redemption=issued, at=at, by=self.staff.get("support"), request=key)

    @property
    def people(self) -> list[int]:
        """IDs of the history's own customers; those whose logins the demo prints are left alone."""
        return [customer.pk for customer, _city in self.customers]
