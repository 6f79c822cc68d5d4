"""The brand's own API, called by its hub."""

from dataclasses import replace

from django.utils import timezone

from authcodes.models.batches import BatchRange
from authcodes.models.products import Product
from brands.identity import api_keys
from jobs.models import Job
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.rewards import Reward


def hub(scenario, *scopes):
    _, text = api_keys.create(brand=scenario.brand, kind="hub", name="x", at=timezone.now(), scopes=scopes)
    return replace(scenario.api, headers={"api-key": text})


def rows_of(scenario):
    brand = scenario.brand.pk
    return [
        list(Product.objects.filter(brand=brand).order_by("pk").values()),
        list(Reward.objects.filter(brand=brand).order_by("pk").values()),
        list(UserPoints.objects.filter(brand=brand).order_by("pk").values()),
        list(BatchRange.objects.filter(brand=brand).order_by("pk").values()),
        LoyaltyTransaction.objects.filter(user_point__brand=brand).count(),
        Job.objects.filter(brand=brand).count(),
    ]
