"""Products that customers report as fakes."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from authcodes.models.codes import AuthCode
from brands.models.people import User
from brands.models.tenants import Brand
from core.db.constraints import check
from core.moments import MomentField


class FakeReport(models.Model):
    """A report about a product that may be a copy. Written by fake_reports.py and personal_data.py."""

    customer_through = ("user",)

    class State(models.TextChoices):
        OPEN = "open", pgettext_lazy("state of a report", "Open")
        CLOSED = "closed", _("Closed")

    brand = models.ForeignKey(Brand, models.PROTECT, related_name="+", db_index=False, verbose_name=_("brand"))
    code = models.CharField(_("code"), max_length=64, help_text=_("As scanned, shortened."))
    auth_code = models.ForeignKey(AuthCode, models.PROTECT, null=True, related_name="+", verbose_name=_("known code"))
    user = models.ForeignKey(User, models.PROTECT, null=True, related_name="+", verbose_name=_("customer"))
    place = models.CharField(_("shop or place"), max_length=200)
    remark = models.TextField(_("remark"), max_length=2000, blank=True)
    contact = models.CharField(_("contact"), max_length=200, blank=True)
    state = models.CharField(_("state"), max_length=6, choices=State.choices, default=State.OPEN)
    reported_at = MomentField(_("reported at"), default=timezone.now, db_index=True)
    closed_at = MomentField(_("closed at"), null=True)
    closed_by = models.ForeignKey(
        User, models.PROTECT, null=True, related_name="+", db_index=False, verbose_name=_("closed by")
    )

    class Meta:
        verbose_name = _("report of a fake")
        verbose_name_plural = _("reports of fakes")
        ordering = ["-reported_at", "-id"]
        indexes = [models.Index(fields=["brand", "state", "-reported_at"], name="fake_report_of_brand")]
        constraints = [
            check(
                "fake_report_closed_at_some_time",
                Q(state="open", closed_at__isnull=True) | Q(state="closed", closed_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"#{self.pk}"
