"""How much of the installation a brand may use, where the operator has set it."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class BrandQuota(models.Model):
    """One limit of one brand. Without a row, or without a limit in it, settings.QUOTAS has it."""

    class Resource(models.TextChoices):
        CODES = "codes", _("Codes")
        UPLOADS = "uploads", _("Uploads a day")
        STORAGE = "storage", _("Storage in bytes")
        JOBS = "jobs", _("Jobs a day")
        EVENTS = "events", _("Events a day")
        WEBHOOKS = "webhooks", _("Webhook messages a day")
        MAILS = "mails", _("Mails a day")

    brand = models.ForeignKey("brands.Brand", on_delete=models.CASCADE, related_name="quotas")
    resource = models.CharField(_("resource"), max_length=10, choices=Resource.choices)
    limit = models.PositiveBigIntegerField(
        _("limit"), null=True, blank=True, help_text=_("Empty: the installation's default. 0: unlimited. Days are UTC.")
    )

    class Meta:
        verbose_name = _("quota")
        verbose_name_plural = _("quotas")
        ordering = ["brand", "resource"]
        constraints = [
            models.UniqueConstraint(fields=["brand", "resource"], name="quota_of_a_brand_once"),
            models.CheckConstraint(
                condition=models.Q(resource__in=["codes", "uploads", "storage", "jobs", "events", "webhooks", "mails"]),
                name="quota_resource_known",
            ),
        ]

    def __str__(self) -> str:
        return str(self.get_resource_display())
