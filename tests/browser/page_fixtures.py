"""Three weeks of the demo: customers scan, one redeems a reward; staff upload a file with errors, recall and export."""

import json
import random
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.core.files.base import ContentFile
from django.db.models import Count
from django.utils import timezone

from authcodes.codes import batches
from authcodes.codes.batches import BatchSettings
from authcodes.imports import uploads
from authcodes.models.batches import BatchRange, Recall
from authcodes.models.codes import AuthCode
from authcodes.models.imports import Import
from authcodes.models.products import Product
from authcodes.models.scans import Scan
from authcodes.recalls import affected
from authcodes.scanning import scan as scanning
from authcodes.scanning.types import ScanContext, ScanLocation
from brands.models.people import User
from brands.models.tenants import Brand
from campaigns.models.campaigns import Campaign
from core.spreadsheets.report import Format
from events.models import Event
from jobs.models import Job
from loyalty.integrations import webhook_endpoints
from loyalty.models.accounts import UserPoints
from loyalty.models.webhooks import WebhookDelivery, WebhookType
from loyalty.rewards import codes
from tests.support import factories
from tests.support.live_stack import wait_until

DAYS, CUSTOMERS, SCANS = 21, 24, 260
PLACES = {
    ScanLocation(52.5200, 13.4050): 9,  # Berlin
    ScanLocation(53.5511, 9.9937): 5,  # Hamburg
    ScanLocation(48.1351, 11.5820): 4,  # Munich
    ScanLocation(50.9375, 6.9603): 3,  # Cologne
    ScanLocation(51.3397, 12.3731): 2,  # Leipzig
    ScanLocation(): 2,
}
MISTAKES = """product_sku,auth_code_start,auth_code_end,location,points_per_scan
AUR-CREAM,AURN-00001,AURN-00010,Berlin Mitte,
AUR-SERUM,AURN-00011,AURN-00020,Hamburg Altona,15
AUR-SERUMM,AURN-00021,AURN-00025,Hamburg Altona,15
AUR-SOAP,AUR-00000001,AUR-00000010,Berlin Mitte,
AUR-SOAP,AURN-00026,AURN-00030,Cologne,five
AUR-SOAP,AURN-00031,AURN-00040,Cologne,
"""


@dataclass(frozen=True)
class Scene:
    """Ids of the rows that pages show."""

    batch: int
    fresh_batch: int
    code: int
    upload: int
    export: int
    brand: int
    member: int
    reward_code: str
    message: int
    campaign: int


def fill_demo(brand: Brand, owner: User) -> Scene:
    """Fill the demo's first brand; a worker must be running. The result is always the same, except for its days."""
    rng = random.Random(7216)
    customers_scan(brand, rng)
    ready = BatchRange.objects.filter(brand=brand, range_name__startswith="Demo codes").earliest("pk")
    recalled = Recall.objects.get(brand=brand)
    upload = uploads.upload(
        brand=brand, kind="ranges", product=None, file=ContentFile(MISTAKES.encode()), name="autumn.csv", by=owner
    )
    export = affected.start_affected(recall=recalled, file_format=Format.CSV, by=owner)
    batch_settings = BatchSettings(
        "Autumn edition", 25_000, Product.objects.get(brand=brand, sku="AUR-GIFT"), "AUT-", signed=False
    )
    fresh = batches.create_batch(brand=brand, batch_settings=batch_settings, at=timezone.now(), by=owner)
    batches.start_generation(batch=fresh, by=owner)
    wait_for_worker()
    assert Import.objects.get(pk=upload.pk).bad_rows == 3
    liveliest = AuthCode.objects.filter(brand=brand, batch__range_name="Three scans each").order_by("-scan_count", "pk")
    member = UserPoints.objects.filter(brand=brand).select_related("user").order_by("-points", "pk")[0]
    return Scene(
        batch=ready.pk,
        fresh_batch=fresh.pk,
        code=liveliest[0].pk,
        upload=upload.pk,
        export=export.pk,
        brand=brand.pk,
        member=member.pk,
        reward_code=redeem_reward(brand, member.user),
        message=create_webhook_delivery(brand),
        campaign=busiest_campaign(brand).pk,
    )


def busiest_campaign(brand: Brand) -> Campaign:
    counted = Campaign.objects.filter(brand=brand).annotate(members=Count("progress_rows"))
    return counted.order_by("-members", "pk")[0]


def redeem_reward(brand: Brand, customer: User) -> str:
    """Redeem a reward; return its code as the customer reads it out."""
    reward = factories.reward(brand, name="A facial at home", cost=50, stock=20)
    return codes.grouped(factories.redemption(customer, reward).code)


def create_webhook_delivery(brand: Brand) -> int:
    """Create a delivery whose first attempt failed; return its id."""
    at = timezone.now()
    address = "https://shop.aurora.demo.example/hooks"
    endpoint, _secret = webhook_endpoints.create(brand=brand, url=address, types=[WebhookType.POINTS_EARNED], at=at)
    data = {"user_id": 42, "points_earned": 15, "new_balance": 120, "reason_ids": ["AUR-00000158"]}
    message = WebhookDelivery.objects.create(
        endpoint=endpoint,
        brand=brand,
        message_id="msg_6f1c1c5e8f0e4f0a9b430d7f2f6b8f11",
        type=WebhookType.POINTS_EARNED,
        body=json.dumps({"type": "points.earned", "timestamp": at.isoformat(), "data": data}),
        state=WebhookDelivery.State.DELIVERED,
        attempts=2,
        last_status=204,
        finished_at=at,
    )
    message.calls.create(at=at - timedelta(seconds=6), milliseconds=41, status=503, answer="Back in a minute")
    message.calls.create(at=at, milliseconds=37, status=204)
    return message.pk


def customers_scan(brand: Brand, rng: random.Random) -> None:
    """Most scans are the first of a valid code; some codes are used up, recalled, expired or unknown."""
    customers = [factories.customer(brand, email=f"customer{n}@aurora.demo.example") for n in range(CUSTOMERS)]
    by_batch: dict[str, list[str]] = {}
    for code in AuthCode.objects.filter(brand=brand, batch__tag_version=None).select_related("batch").order_by("code"):
        by_batch.setdefault(code.batch.range_name.partition(" from ")[0], []).append(code.code)
    moments = sorted(timezone.now() - timedelta(days=DAYS * rng.random() ** 1.4) for _scan in range(SCANS))
    fresh = iter(by_batch["Demo codes"])
    for at in moments:
        kind = rng.choices(
            ["Demo codes", "Three scans each", "Points of their own", "Recalled", "Expired", "?"], [60, 22, 9, 4, 3, 2]
        )[0]
        code = next(fresh) if kind == "Demo codes" else rng.choice(by_batch[kind][:9]) if kind != "?" else "AUR-0O1"
        [place] = rng.choices([*PLACES], [*PLACES.values()])
        scan(code, brand, at=at, user_id=rng.choice(customers).pk, place=place)
    wait_for_worker()


def scan(code: str, brand: Brand, **fields: Any) -> None:
    scanning.scan(scanned=code, context=ScanContext(brand_id=brand.pk, device="Phone", app_version="2.4", **fields))


def wait_for_worker() -> None:
    """Wait until the worker has nothing left to do."""
    wait_until(lambda: not Event.objects.pending().exists(), seconds=60)
    wait_until(lambda: not Job.objects.unfinished().exists(), seconds=60)
    wait_until(lambda: not Scan.objects.filter(located_at=None, latitude__isnull=False).exists(), seconds=60)
