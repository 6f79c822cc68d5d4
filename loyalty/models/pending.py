"""Points of orders that are not yet part of the balance."""

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from core.db.constraints import check
from core.moments import MomentField
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction


class PendingPoints(models.Model):
    """What is still pending from a ledger entry, and when it is released. Null: when the delivery is confirmed."""

    brand_through = ("user_point",)

    entry = models.OneToOneField(LoyaltyTransaction, models.PROTECT, primary_key=True, related_name="+")
    user_point = models.ForeignKey(UserPoints, models.PROTECT, related_name="+", verbose_name=_("member"))
    points = models.DecimalField(_("points"), max_digits=10, decimal_places=2)
    remaining = models.DecimalField(
        _("still pending"), max_digits=10, decimal_places=2, help_text=_("Neither released nor cancelled.")
    )
    release_at = MomentField(_("released on"), null=True, blank=True)
    created_at = MomentField(_("earned"), default=timezone.now)

    class Meta:
        verbose_name = _("pending points")
        verbose_name_plural = _("pending points")
        ordering = ["-entry_id"]
        indexes = [
            models.Index(fields=["release_at"], name="pending_by_release", condition=Q(remaining__gt=0)),
        ]
        constraints = [check("pending_within_earned", Q(points__gte=0, remaining__gte=0, remaining__lte=F("points")))]

    def __str__(self) -> str:
        return f"{self.remaining} of {self.points}"
