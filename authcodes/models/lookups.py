"""Codes that were looked up without being scanned."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from brands.models.people import User
from brands.models.tenants import Brand
from core.moments import MomentField


class CodeLookup(models.Model):
    """A lookup of what a scan would say (spec 4.6). Written by lookups.py and personal_data.py, retained for weeks."""

    customer_through = ("user",)

    lookup_id = models.BigAutoField(_("lookup id"), primary_key=True)
    brand = models.ForeignKey(Brand, models.PROTECT, null=True, related_name="+", db_index=False)
    auth_code = models.ForeignKey(AuthCode, models.PROTECT, null=True, related_name="+", db_index=False)
    code = models.CharField(max_length=64, help_text=_("As scanned, shortened."))
    user = models.ForeignKey(User, models.PROTECT, null=True, related_name="+")
    reason = models.CharField(
        max_length=20, choices=Scan.Reason.choices, help_text=_("What the result of a scan would have been.")
    )
    looked_up_at = MomentField(_("looked up at"), default=timezone.now, db_index=True)

    class Meta:
        verbose_name = _("code lookup")
        verbose_name_plural = _("code lookups")
        ordering = ["-lookup_id"]
        indexes = [
            models.Index(fields=["auth_code"], name="code_lookup_of_code", condition=models.Q(auth_code__isnull=False))
        ]

    def __str__(self) -> str:
        return f"{self.code}: {self.reason}"
