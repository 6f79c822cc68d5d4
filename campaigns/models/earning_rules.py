"""What a brand pays for that is not a scan."""

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from brands.models.tenants import Brand
from loyalty.models.levels import RewardType


class EarningRule(models.Model):
    """What an order, a profile change or a login earns at a brand. Scans earn by level instead."""

    class Kind(models.TextChoices):
        ORDER = "order-complete", _("Order completed")
        PROFILE = "log-user-profile-update", _("Profile field completed")
        LOGIN = "log-user-login", _("First login of the day")

    brand = models.ForeignKey(Brand, on_delete=models.CASCADE, related_name="earning_rules")
    kind = models.CharField(max_length=32, choices=Kind.choices)
    reward_type = models.CharField(max_length=10, choices=RewardType.choices, default=RewardType.POINTS)
    reward_value = models.DecimalField(max_digits=10, decimal_places=2, validators=[MinValueValidator(0)])
    is_active = models.BooleanField(default=True)

    class Meta:
        ordering = ["brand_id", "kind"]
        constraints = [
            models.UniqueConstraint(fields=["brand", "kind"], name="one_earning_rule_per_kind"),
            models.CheckConstraint(condition=Q(reward_value__gte=0), name="earning_rule_not_negative"),
            models.CheckConstraint(
                condition=Q(reward_type="points") | Q(reward_type="percentage", kind="order-complete"),
                name="percentage_needs_an_amount",
                violation_error_message=_("Only orders have an amount to take a percentage of."),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.reward_value} {self.get_reward_type_display()}"
