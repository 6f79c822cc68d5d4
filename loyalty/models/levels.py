"""A brand's levels, and what scans earn in them."""

from decimal import Decimal

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from brands.models.tenants import Brand
from core.translations import TranslationsField

ZERO = Decimal(0)


class RewardType(models.TextChoices):
    POINTS = "points", _("Fixed points")
    PERCENTAGE = "percentage", _("Percent of the amount")


class BrandLevel(models.Model):
    """A tier of a brand: from how many lifetime points it holds, and what a scan earns in it."""

    visible_to_customers = True

    brand = models.ForeignKey(Brand, on_delete=models.CASCADE, related_name="levels")
    name = models.CharField(max_length=60)
    threshold = models.DecimalField(
        max_digits=12,
        decimal_places=2,
        default=ZERO,
        validators=[MinValueValidator(0)],
        help_text=_("Lifetime points needed to reach this level."),
    )
    scan_reward_type = models.CharField(max_length=10, choices=RewardType.choices, default=RewardType.POINTS)
    scan_reward_value = models.DecimalField(
        max_digits=10, decimal_places=2, default=Decimal(1), validators=[MinValueValidator(0)]
    )
    translations = TranslationsField(of=("name",))

    class Meta:
        ordering = ["brand_id", "threshold"]
        constraints = [
            models.UniqueConstraint(fields=["brand", "name"], name="level_name_unique_in_brand"),
            models.UniqueConstraint(fields=["brand", "threshold"], name="level_threshold_unique_in_brand"),
            models.CheckConstraint(
                condition=Q(threshold__gte=0, scan_reward_value__gte=0), name="level_numbers_not_negative"
            ),
            models.CheckConstraint(condition=Q(scan_reward_type__in=RewardType.values), name="level_reward_type_known"),
        ]

    def __str__(self) -> str:
        return self.name
