"""Models of staff sign-in: settings, second factors, recovery codes, sessions, invitations, queued mails."""

from datetime import datetime
from typing import Self

from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.people import StaffRole, User
from brands.models.tenants import Brand
from core.db.constraints import check
from core.encryption import EncryptedTextField
from core.moments import MomentField

MAX_ATTEMPTS = 20  # to send a mail, a minute apart


class SignInSettings(models.Model):
    """How the staff of one brand sign in. Without this row: by password, with an optional second factor."""

    brand = models.OneToOneField(Brand, models.CASCADE, related_name="sign_in_settings", verbose_name=_("brand"))
    second_factor_required = models.BooleanField(
        _("second factor required"),
        default=False,
        help_text=_("Everybody who works for the brand must set up a second factor the next time they log in."),
    )
    oidc_active = models.BooleanField(
        _("identity provider active"),
        default=False,
        help_text=_("Staff may also log in through the identity provider, and then see this brand only."),
    )
    oidc_issuer = models.CharField(
        _("issuer"),
        max_length=500,
        blank=True,
        help_text=_("Enter the issuer as the provider states it, such as https://login.example.com/realms/staff"),
    )
    oidc_client_id = models.CharField(_("client id"), max_length=200, blank=True)
    oidc_client_secret = EncryptedTextField(_("client secret"), blank=True, default="")

    class Meta:
        verbose_name = _("staff login")
        verbose_name_plural = _("staff login")
        ordering = ["brand_id"]
        constraints = [
            check(
                "active_provider_is_complete",
                Q(oidc_active=False) | ~(Q(oidc_issuer="") | Q(oidc_client_id="") | Q(oidc_client_secret="")),
                message=_("An active identity provider needs issuer, client id and client secret."),
            )
        ]

    def __str__(self) -> str:
        return str(_("Staff login of %(brand)s") % {"brand": self.brand})


class Factor(models.Model):
    """A second factor of a member of staff: an authenticator app, or a passkey."""

    class Kind(models.TextChoices):
        TOTP = "totp", _("Authenticator app")
        PASSKEY = "passkey", _("Passkey or security key")

    user = models.ForeignKey(User, models.CASCADE, related_name="factors")
    kind = models.CharField(max_length=10, choices=Kind.choices)
    name = models.CharField(max_length=60, blank=True)
    secret = EncryptedTextField(help_text=_("An app's seed in base32, a passkey's credential data in base64."))
    last_counter = models.BigIntegerField(
        _("last counter"), default=-1, help_text=_("The time step of the last code, or a passkey's signature counter.")
    )
    created_at = MomentField(default=timezone.now, editable=False)
    last_used_at = MomentField(null=True, blank=True)

    class Meta:
        verbose_name = _("factor")
        verbose_name_plural = _("factors")
        ordering = ["created_at", "id"]
        constraints = [
            check("factor_kind_known", Q(kind__in=["totp", "passkey"])),
            models.UniqueConstraint(fields=["user"], condition=Q(kind="totp"), name="one_app_per_user"),
        ]

    def __str__(self) -> str:
        return self.name or str(self.get_kind_display())


class RecoveryCode(models.Model):
    """Replaces a lost factor once. Only a keyed hash is stored."""

    user = models.ForeignKey(User, models.CASCADE, related_name="recovery_codes")
    digest = models.BinaryField(max_length=32)
    used_at = MomentField(null=True, blank=True)

    class Meta:
        verbose_name = _("recovery code")
        verbose_name_plural = _("recovery codes")
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["user", "digest"], name="recovery_code_unique")]

    def __str__(self) -> str:
        return f"{self.user_id}: {'used' if self.used_at else 'unused'}"


class StaffSession(models.Model):
    """A browser in which a member of staff is logged in."""

    user = models.ForeignKey(User, models.CASCADE, related_name="staff_sessions")
    session_key = models.CharField(_("session key"), max_length=40, unique=True)
    brand = models.ForeignKey(
        Brand,
        models.CASCADE,
        null=True,
        related_name="+",
        help_text=_("The brand whose identity provider logged the person in. They see no other brand."),
    )
    network = models.CharField(_("network"), max_length=50, help_text=_("The IP address or, for IPv6, its network."))
    device = models.CharField(max_length=120, blank=True)
    created_at = MomentField(default=timezone.now, editable=False)
    last_seen_at = MomentField(_("last seen at"), default=timezone.now)

    class Meta:
        verbose_name = _("staff session")
        verbose_name_plural = _("staff sessions")
        ordering = ["-last_seen_at", "-id"]

    def __str__(self) -> str:
        return f"{self.device} ({self.network})"


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def unused(self) -> Self:
        """Neither accepted nor revoked; some of them have expired."""
        return self.filter(accepted_at=None, revoked_at=None)


class Invitation(models.Model):
    """An invitation to a brand's staff. Only the hash of the mailed link's token is stored."""

    class State(models.TextChoices):
        PENDING = "pending", _("Pending")
        ACCEPTED = "accepted", _("Accepted")
        EXPIRED = "expired", _("Expired")
        REVOKED = "revoked", _("Revoked")

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="invitations", verbose_name=_("brand"))
    email = models.EmailField(_("e-mail address"), max_length=254)
    role = models.CharField(_("role"), max_length=10, choices=StaffRole.Role.choices)
    invited_by = models.ForeignKey(
        User, models.SET_NULL, null=True, related_name="+", editable=False, verbose_name=_("invited by")
    )
    digest = models.BinaryField(_("digest"), max_length=32, null=True, editable=False)
    created_at = MomentField(_("invited"), default=timezone.now, editable=False)
    expires_at = MomentField(_("expires"), editable=False)
    accepted_at = MomentField(_("accepted"), null=True, editable=False)
    revoked_at = MomentField(_("revoked"), null=True, editable=False)
    mailed_at = MomentField(_("mailed"), null=True, editable=False)
    failed_mails = models.PositiveSmallIntegerField(_("failed mails"), default=0, db_default=0, editable=False)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        verbose_name = _("invitation")
        verbose_name_plural = _("invitations")
        ordering = ["-created_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["brand", "email"],
                condition=Q(accepted_at=None, revoked_at=None),
                name="one_open_invitation_per_address",
            ),
            models.UniqueConstraint(fields=["digest"], name="invitation_digest_unique"),
            check("invitation_email_is_lowercase", Q(email=Lower("email"))),
            check("invitation_role_known", Q(role__in=["owner", "manager", "printer", "support"])),
        ]

    def __str__(self) -> str:
        return self.email

    @property
    def mail_has_failed(self) -> bool:
        """Whether all attempts are used up."""
        return self.mailed_at is None and self.failed_mails >= MAX_ATTEMPTS

    def state(self, *, at: datetime) -> "Invitation.State":
        if self.accepted_at:
            return self.State.ACCEPTED
        if self.revoked_at:
            return self.State.REVOKED
        return self.State.PENDING if self.expires_at > at else self.State.EXPIRED


class StaffMail(models.Model):
    """A mail to a member of staff, stored in the transaction of the change that it reports."""

    class Kind(models.TextChoices):
        PASSWORD_LINK = "password_link", _("Link to set a new password")
        FACTORS_LINK = "factors_link", _("Link to remove second factors")
        NOTIFICATION = "notification", _("Notification of a change")
        INVITATION = "invitation", _("Invitation to work for a brand")
        QUOTA = "quota", _("Notification of a quota")
        REPORT = "report", _("Scheduled report")
        REPORT_FAILED = "report_failed", _("Scheduled report that failed")
        BUDGET = "budget", _("Budget that is used up")
        CAMPAIGN_BUDGET = "campaign_budget", _("Campaign budget that is used up")

    user = models.ForeignKey(
        User,
        models.CASCADE,
        null=True,
        related_name="staff_mails",
        help_text=_(
            "Empty if the address that was typed belongs to nobody. The process is the same, but no mail is sent."
        ),
    )
    invitation = models.ForeignKey(
        Invitation, models.CASCADE, null=True, related_name="mails", verbose_name=_("invitation")
    )
    kind = models.CharField(max_length=20, choices=Kind.choices)
    origin = models.CharField(
        _("origin"), max_length=300, help_text=_("The origin of the portal, with which its links begin.")
    )
    text = models.CharField(_("text"), max_length=1000, blank=True, help_text=_("In the receiver's language."))
    language = models.CharField(
        _("language"),
        max_length=7,
        blank=True,
        default="",
        db_default="",
        help_text=_("The language of the text. Without a text, the language is decided when the mail is sent."),
    )
    path = models.CharField(
        _("path"),
        max_length=200,
        blank=True,
        db_default="",
        help_text=_("The path of the portal page that the link opens."),
    )
    created_at = MomentField(default=timezone.now, editable=False)
    sent_at = MomentField(_("sent at"), null=True, blank=True)
    used_at = MomentField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(default=0)

    class Meta:
        verbose_name = _("staff mail")
        verbose_name_plural = _("staff mails")
        ordering = ["id"]
        constraints = [
            check(
                "staff_mail_kind_known",
                Q(
                    kind__in=[
                        "password_link",
                        "factors_link",
                        "notification",
                        "invitation",
                        "quota",
                        "report",
                        "report_failed",
                        "budget",
                        "campaign_budget",
                    ]
                ),
            )
        ]
        indexes = [models.Index(fields=["id"], condition=Q(sent_at=None), name="staff_mail_to_send")]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"
