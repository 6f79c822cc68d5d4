"""The cost of a point to a brand."""

from decimal import Decimal

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.formats import date_format
from django.utils.translation import gettext_lazy as _

from brands.models.tenants import Brand
from core.db.constraints import check
from core.moments import DayField


class PointCost(models.Model):
    """The cost of a point to the brand, from a day on. A brand's rows are the history of its cost."""

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="point_costs", verbose_name=_("brand"))
    valid_from = DayField(
        _("valid from"),
        help_text=_(
            "The first day of this cost, in the brand's time zone. The cost applies until the next one begins."
        ),
    )
    cost = models.DecimalField(
        _("cost per point"),
        max_digits=12,
        decimal_places=6,
        validators=[MinValueValidator(Decimal(0))],
        help_text=_("In the brand's currency: what a point costs you on average when a member redeems it."),
    )

    class Meta:
        verbose_name = _("cost per point")
        verbose_name_plural = _("costs per point")
        ordering = ["brand_id", "-valid_from"]
        constraints = [
            models.UniqueConstraint(
                fields=["brand", "valid_from"],
                name="one_point_cost_a_day",
                violation_error_message=_("Another cost already begins on this day. Change that cost."),
            ),
            check("point_cost_not_negative", Q(cost__gte=0)),
        ]

    def __str__(self) -> str:
        return f"{self.cost.normalize():f} from {date_format(self.valid_from)}"
