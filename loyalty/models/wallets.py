"""Wallet passes of members, the devices with them, and the certificates that sign them."""

import uuid
from datetime import timedelta
from typing import Self

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.tenants import Brand
from core.db.constraints import check
from core.encryption import EncryptedTextField
from core.moments import MomentField
from loyalty.models.accounts import UserPoints

# A wallet that has not fetched a change for this long is stale, not merely in transit.
STALE_AFTER = timedelta(hours=1)


class Platform(models.TextChoices):
    APPLE = "apple", _("Apple Wallet")
    GOOGLE = "google", _("Google Wallet")


class WalletIssuer(models.Model):
    """A brand's account with a wallet platform: its certificate or service account, and keys, which are never shown."""

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="wallet_issuers", verbose_name=_("brand"))
    platform = models.CharField(_("platform"), max_length=6, choices=Platform.choices)
    identifier = models.CharField(
        _("identifier"), max_length=120, help_text=_("Apple: the pass type identifier. Google: the issuer id.")
    )
    account = models.CharField(
        _("account"), max_length=254, help_text=_("Apple: the team. Google: the service account.")
    )
    certificates = models.TextField(
        _("certificates"),
        blank=True,
        help_text=_("Apple: the signing certificate and the certificate above it, in PEM format."),
    )
    private_key = EncryptedTextField(_("private key"), blank=True)
    key_id = models.CharField(_("key id"), max_length=64, blank=True)
    push_key = EncryptedTextField(_("push key"), blank=True)
    push_key_id = models.CharField(_("push key id"), max_length=10, blank=True)
    expires_at = MomentField(
        _("expires at"), null=True, blank=True, help_text=_("When the first of its certificates expires.")
    )
    uploaded_at = MomentField(_("uploaded at"), default=timezone.now)
    design = models.PositiveIntegerField(default=1, help_text=_("Increases with each change to what all passes share."))
    design_pushed = models.PositiveIntegerField(
        default=0, help_text=_("Google: the design that the issuer's class has.")
    )
    last_error = models.TextField(_("last error"), blank=True)
    failed_at = MomentField(_("failed at"), null=True, blank=True)

    class Meta:
        verbose_name = _("wallet certificate")
        verbose_name_plural = _("wallet certificates")
        ordering = ["brand_id", "platform"]
        constraints = [
            models.UniqueConstraint(
                fields=["brand", "platform"],
                name="one_wallet_issuer_per_platform",
                violation_error_message=_(
                    "The brand already has a wallet certificate for this platform. Replace its files."
                ),
            ),
            check("wallet_issuer_platform_known", Q(platform__in=Platform.values)),
        ]

    def __str__(self) -> str:
        return f"{self.get_platform_display()}: {self.identifier}"


def stale() -> Q:
    """In a wallet, and outdated for longer than an update takes."""
    return Q(current_version__lt=F("version"), changed_at__lt=timezone.now() - STALE_AFTER, state="held")


class WalletPassQuerySet(models.QuerySet["WalletPass"]):
    def stale(self) -> Self:
        return self.filter(stale())


class WalletPass(models.Model):
    """A member's pass on one platform. Its version increases when its content changes."""

    customer_through = ("account",)

    class State(models.TextChoices):
        ISSUED = "issued", _("Issued")
        IN_WALLET = "held", _("In a wallet")
        REMOVED = "removed", _("Removed")

    account = models.ForeignKey(
        UserPoints, models.CASCADE, related_name="wallet_passes", db_index=False, verbose_name=_("member")
    )
    brand = models.ForeignKey(
        Brand, models.CASCADE, related_name="wallet_passes", db_index=False, verbose_name=_("brand")
    )
    platform = models.CharField(_("platform"), max_length=6, choices=Platform.choices)
    serial = models.UUIDField(_("serial number"), default=uuid.uuid4, unique=True, editable=False)
    token = EncryptedTextField(help_text=_("The token with which a device proves that it holds the pass."))
    state = models.CharField(_("state"), max_length=8, choices=State.choices, default=State.ISSUED)
    version = models.PositiveIntegerField(_("version"), default=1)
    changed_at = MomentField(
        _("changed at"), default=timezone.now, help_text=_("In whole seconds. No two versions have the same time.")
    )
    queued_version = models.PositiveIntegerField(
        null=True, blank=True, help_text=_("The first version that the update under way brings.")
    )
    busy_until = MomentField(null=True, blank=True, help_text=_("Until then, a worker is sending this pass."))
    pushed_version = models.PositiveIntegerField(_("pushed version"), default=0)
    pushed_at = MomentField(_("last push"), null=True, blank=True)
    current_version = models.PositiveIntegerField(_("version in wallet"), default=0)
    fetched_at = MomentField(_("last fetch"), null=True, blank=True)
    notified_at = models.JSONField(
        _("notified at"), default=list, help_text=_("Google: when customers were last notified.")
    )
    last_error = models.TextField(_("last error"), blank=True)
    failed_at = MomentField(_("failed at"), null=True, blank=True)
    created_at = MomentField(_("created at"), default=timezone.now, editable=False)

    objects = WalletPassQuerySet.as_manager()

    class Meta:
        verbose_name = _("wallet pass")
        verbose_name_plural = _("wallet passes")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["brand", "-id"], name="wallet_passes_of_a_brand"),
            models.Index(
                fields=["brand", "changed_at"],
                name="wallet_passes_behind",
                condition=Q(current_version__lt=F("version")),
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["account", "platform"], name="one_pass_per_member_and_platform"),
            check("wallet_pass_platform_known", Q(platform__in=Platform.values)),
            check("wallet_pass_state_known", Q(state__in=["issued", "held", "removed"])),
        ]

    def __str__(self) -> str:
        return f"{self.get_platform_display()} {self.serial}"

    @property
    def is_stale(self) -> bool:
        """Like `stale`."""
        behind = self.current_version < self.version and self.changed_at < timezone.now() - STALE_AFTER
        return behind and self.state == self.State.IN_WALLET


class WalletDevice(models.Model):
    """An Apple device that has a pass and receives its updates."""

    brand_through = ("wallet_pass",)

    wallet_pass = models.ForeignKey(WalletPass, models.CASCADE, related_name="devices", db_index=False)
    device = models.CharField(max_length=128, help_text=_("The device's name for itself in this brand's passes."))
    push_token = models.CharField(max_length=256)
    pushed_version = models.PositiveIntegerField(default=0)
    registered_at = MomentField(default=timezone.now)

    class Meta:
        ordering = ["id"]
        indexes = [
            models.Index(fields=["device"], name="wallet_device_named"),
            models.Index(fields=["push_token"], name="wallet_device_token"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["wallet_pass", "device"], name="one_registration_per_device"),
        ]

    def __str__(self) -> str:
        return self.device
