"""Requests for points above a brand's ceiling, and the second person's decision."""

from django.core.serializers.json import DjangoJSONEncoder
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.people import User
from brands.models.tenants import Brand
from core.db.constraints import check
from core.moments import MomentField


class PointsApproval(models.Model):
    """A change of what scans earn, above the ceiling. A person other than the requester decides on it."""

    class Status(models.TextChoices):
        PENDING = "pending", _("Waiting for approval")
        APPROVED = "approved", _("Approved")
        REJECTED = "rejected", _("Rejected")
        WITHDRAWN = "withdrawn", _("Withdrawn")

    brand = models.ForeignKey(Brand, models.PROTECT, related_name="+", verbose_name=_("brand"))
    kind = models.CharField(_("kind"), max_length=60, help_text=_("The row's model: app.model"))
    row_id = models.BigIntegerField(_("row id"))
    row_name = models.CharField(_("what"), max_length=200)
    values = models.JSONField(
        _("requested"), encoder=DjangoJSONEncoder, help_text=_("The value of each field once approved.")
    )
    max_total = models.DecimalField(
        _("max total points"),
        max_digits=40,
        decimal_places=0,
        null=True,
        help_text=_("Codes x points x scans, if every code is scanned as often as allowed."),
    )
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.PENDING)
    requested_by = models.ForeignKey(User, models.PROTECT, verbose_name=_("requested by"), related_name="+")
    requested_at = MomentField(_("requested at"), default=timezone.now)
    decided_by = models.ForeignKey(User, models.PROTECT, verbose_name=_("decided by"), null=True, related_name="+")
    decided_at = MomentField(_("decided at"), null=True)

    class Meta:
        verbose_name = _("points approval")
        verbose_name_plural = _("points approvals")
        ordering = ["-id"]
        indexes = [models.Index(fields=["brand", "-id"], name="points_approval_of_brand")]
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "row_id"], condition=Q(status="pending"), name="one_pending_approval_per_row"
            ),
            check("approval_status_known", Q(status__in=["pending", "approved", "rejected", "withdrawn"])),
            check(
                "approved_by_a_second_person",
                ~Q(status="approved") | (Q(decided_by__isnull=False) & ~Q(decided_by=F("requested_by"))),
            ),
        ]

    def __str__(self) -> str:
        return self.row_name
