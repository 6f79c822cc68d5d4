"""Consents of customers."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.people import User
from brands.models.tenants import Brand
from core.moments import MomentField


class Consent(models.Model):
    """A customer accepted a brand's terms and saw its privacy notice at one moment. Written by consents.py.

    A brand either has web pages for them (the URLs), or stored the texts here.
    """

    customer_through = ("user",)

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    terms_url = models.CharField(_("terms"), max_length=500, blank=True)
    privacy_url = models.CharField(_("privacy notice"), max_length=500, blank=True)
    # Ids of brands.LegalText, which are never deleted.
    legal_texts = ArrayField(
        models.BigIntegerField(), verbose_name=_("legal texts"), default=list, db_default=[], blank=True
    )
    consented_at = MomentField(_("consented at"), default=timezone.now)

    class Meta:
        verbose_name = _("consent")
        verbose_name_plural = _("consents")
        ordering = ["-consented_at", "-id"]
        indexes = [models.Index(fields=["brand", "user"], name="consent_of_customer")]

    def __str__(self) -> str:
        return f"#{self.pk}"
