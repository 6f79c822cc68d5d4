"""A brand's limits: its quotas, the warnings about them, and how often guessing was stopped, by the hour."""

from django.db import models
from django.db.models import Q
from django.utils.formats import date_format
from django.utils.translation import gettext_lazy as _

from core.db.constraints import check
from core.moments import DayField, MomentField


class StoppedAttempts(models.Model):
    """How many attempts at a brand the guessing limits stopped in one hour."""

    class Kind(models.TextChoices):
        CODES = "codes", _("Codes: more than customers normally try")
        LOGINS = "logins", _("Customer logins: wrong passwords")

    brand = models.ForeignKey("brands.Brand", models.CASCADE, related_name="+", verbose_name=_("brand"))
    kind = models.CharField(_("what was tried"), max_length=10, choices=Kind.choices)
    hour = MomentField(_("hour starting at"))
    number = models.PositiveBigIntegerField(_("stopped attempts"))

    class Meta:
        verbose_name = _("stopped attempts")
        verbose_name_plural = _("stopped attempts")
        ordering = ["-hour", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["brand", "hour", "kind"], name="stopped_attempts_of_an_hour"),
            check("stopped_kind_known", Q(kind__in=["codes", "logins"])),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}, {date_format(self.hour, 'j M Y, H:i')} UTC"


class QuotaMail(models.Model):
    """A warning to a brand's owners about a quota: at most once a day (UTC) for each percentage that is passed."""

    brand = models.ForeignKey("brands.Brand", models.CASCADE, related_name="+")
    resource = models.CharField(_("resource"), max_length=10)
    percent = models.PositiveSmallIntegerField(_("percent"))
    day = DayField(_("day"))

    class Meta:
        verbose_name = _("quota notice")
        verbose_name_plural = _("quota notices")
        ordering = ["brand", "resource", "day"]
        constraints = [
            models.UniqueConstraint(fields=["brand", "resource", "percent", "day"], name="quota_notice_once_a_day")
        ]

    def __str__(self) -> str:
        return f"{self.resource} {self.percent} % {self.day}"


class BrandQuota(models.Model):
    """One quota of one brand. Without a row, or without a limit in it, settings.QUOTAS applies."""

    class Resource(models.TextChoices):
        CODES = "codes", _("Codes")
        UPLOADS = "uploads", _("Uploads a day")
        STORAGE = "storage", _("Storage in bytes")
        JOBS = "jobs", _("Jobs a day")
        EVENTS = "events", _("Events a day")
        WEBHOOKS = "webhooks", _("Webhook deliveries a day")
        MAILS = "mails", _("E-mails a day")
        BROADCASTS = "broadcasts", _("Broadcast messages a day")

    brand = models.ForeignKey("brands.Brand", models.CASCADE, related_name="quotas", verbose_name=_("brand"))
    resource = models.CharField(_("resource"), max_length=10, choices=Resource.choices)
    limit = models.PositiveBigIntegerField(
        _("limit"),
        null=True,
        blank=True,
        help_text=_("Leave empty to use the installation's default. 0 means unlimited. Days are in UTC."),
    )

    class Meta:
        verbose_name = _("quota")
        verbose_name_plural = _("quotas")
        ordering = ["brand", "resource"]
        constraints = [
            models.UniqueConstraint(fields=["brand", "resource"], name="quota_of_a_brand_once"),
            check(
                "quota_resource_known",
                Q(resource__in=["codes", "uploads", "storage", "jobs", "events", "webhooks", "mails", "broadcasts"]),
            ),
        ]

    def __str__(self) -> str:
        return str(self.get_resource_display())
