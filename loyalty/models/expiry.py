"""Progress of the nightly work on expiring points, and the warnings sent to members."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.tenants import Brand
from core.db.constraints import check
from core.moments import DayField, MomentField
from loyalty.models.accounts import UserPoints


class ExpiryRun(models.Model):
    """One night's work of one kind for a brand. It resumes after the account `reached`."""

    class Kind(models.TextChoices):
        EXPIRE = "expire", _("Expire points")
        WARN = "warn", _("Warn of points about to expire")

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="expiry_runs", db_index=False)
    kind = models.CharField(max_length=6, choices=Kind.choices)
    day = DayField(help_text=_("In the brand's time zone."))
    retained_from = MomentField(help_text=_("Points earned before this day have expired or are about to."))
    reached = models.BigIntegerField(default=0, help_text=_("The last account that was checked."))
    members = models.PositiveIntegerField(default=0, help_text=_("Accounts that lost points or were warned."))
    points = models.DecimalField(max_digits=16, decimal_places=2, default=0)
    started_at = MomentField(default=timezone.now)
    finished_at = MomentField(null=True, blank=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["brand", "day", "kind"], name="one_expiry_run_a_day"),
            check("expiry_run_kind_known", Q(kind__in=["expire", "warn"])),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.day}"


class ExpiryWarning(models.Model):
    """The last day covered by a member's latest expiry warning."""

    brand_through = ("user_point",)

    user_point = models.OneToOneField(UserPoints, models.CASCADE, primary_key=True, related_name="+")
    until = DayField()

    def __str__(self) -> str:
        return f"#{self.user_point_id} until {self.until}"
