"""API keys and login sessions."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.people import User
from brands.models.tenants import Brand
from core.db.constraints import check
from core.moments import MomentField


class ApiKey(models.Model):
    """A brand's key; only its hash is stored."""

    class Kind(models.TextChoices):
        HUB = "hub", _("Hub (secret, server to server)")
        APP = "app", _("App (publishable, shipped in an app)")

    class Scope(models.TextChoices):
        READ = "read", _("Read: all but names and addresses")
        EVENTS = "events", _("Events: scans, orders, profiles, logins")
        MEMBERS = "members", _("Members: find, enrol, change, block")
        POINTS = "points", _("Points: adjust balances")
        TILL = "till", _("Till: check and use reward codes")
        CODES = "codes", _("Codes: generate, assign, deactivate")
        ADMIN = "admin", _("Admin: products, rewards, recalls")

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="api_keys", verbose_name=_("brand"))
    kind = models.CharField(_("kind"), max_length=3, choices=Kind.choices)
    name = models.CharField(_("name"), max_length=120)
    prefix = models.CharField(_("prefix"), max_length=16, editable=False, help_text=_("The visible start of the key."))
    digest = models.BinaryField(max_length=32, editable=False)
    scopes = ArrayField(
        models.CharField(max_length=10, choices=Scope.choices),
        verbose_name=_("scopes"),
        default=list,
        db_default=[],
        blank=True,
        help_text=_("What a hub key may do. App keys have no scopes."),
    )
    networks = ArrayField(
        models.CharField(max_length=43),
        verbose_name=_("allowed networks"),
        default=list,
        db_default=[],
        blank=True,
        help_text=_("IP addresses or networks such as 203.0.113.0/24. Leave empty to allow every network."),
    )
    created_at = MomentField(_("created at"), default=timezone.now, editable=False)
    last_used_at = MomentField(_("last used at"), null=True, blank=True, editable=False)
    expires_at = MomentField(_("expires at"), null=True, blank=True)
    revoked_at = MomentField(_("revoked at"), null=True, blank=True, editable=False)
    of_scan_page = models.BooleanField(
        _("scan page key"),
        default=False,
        editable=False,
        help_text=_("Created for the scan page. If it is revoked, the scan page creates another."),
    )

    class Meta:
        verbose_name = _("API key")
        verbose_name_plural = _("API keys")
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["digest"], name="api_key_digest_unique"),
            check("api_key_kind_known", Q(kind__in=["hub", "app"])),
        ]

    def __str__(self) -> str:
        return f"{self.prefix}… ({self.name})"


class LoginSession(models.Model):
    """One login and its chain of refresh tokens. Only the newest token is valid, except for a short overlap."""

    customer_through = ("user",)

    family = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="login_sessions")
    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+")
    current_jti = models.CharField(max_length=64)
    previous_jti = models.CharField(max_length=64, blank=True, default="", db_default="")
    rotated_at = MomentField(null=True, blank=True)
    created_at = MomentField(default=timezone.now, editable=False)
    expires_at = MomentField()
    revoked_at = MomentField(null=True, blank=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return f"{self.user_id} at {self.brand_id} since {self.created_at:%Y-%m-%d %H:%M}"
