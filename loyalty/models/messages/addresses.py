"""Domains from which a brand sends e-mails, and suppressed addresses."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.tenants import Brand
from core.moments import MomentField
from loyalty.models.notifications import Channel


class SenderDomain(models.Model):
    """A domain from which a brand wants to send e-mail, and the result of its DNS check."""

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False, verbose_name=_("brand"))
    domain = models.CharField(_("domain"), max_length=253, help_text=_("Such as example.com."))
    token = models.CharField(max_length=32, editable=False)
    verified_at = MomentField(_("verified at"), null=True, blank=True, editable=False)
    missing_since = MomentField(_("missing since"), null=True, blank=True, editable=False)
    checked_at = MomentField(_("checked at"), null=True, blank=True, editable=False)
    last_error = models.CharField(_("last error"), max_length=200, blank=True, editable=False)
    created_at = MomentField(_("created at"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("sender domain")
        verbose_name_plural = _("sender domains")
        ordering = ["domain", "id"]
        constraints = [models.UniqueConstraint(fields=["brand", "domain"], name="sender_domain_once_per_brand")]

    def __str__(self) -> str:
        return self.domain


class SuppressedAddress(models.Model):
    """An address that permanently rejects messages. Only its digest is stored; staff can allow another attempt."""

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False, verbose_name=_("brand"))
    channel = models.CharField(_("channel"), max_length=5, choices=Channel.choices)
    digest = models.CharField(max_length=64, editable=False)
    masked_address = models.CharField(_("address"), max_length=120)
    reason = models.TextField(_("reason"))
    stopped_at = MomentField(_("stopped at"), default=timezone.now)

    class Meta:
        verbose_name = _("suppressed address")
        verbose_name_plural = _("suppressed addresses")
        ordering = ["-stopped_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["brand", "channel", "digest"], name="stopped_once"),
        ]

    def __str__(self) -> str:
        return self.masked_address
