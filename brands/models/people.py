"""Users, and the roles of staff."""

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.tenants import Brand
from core.db.constraints import check
from core.moments import MomentField


class UserManager(BaseUserManager["User"]):
    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email=(username or "").lower())

    def create_user(self, email: str, password: str | None = None, **fields: object) -> "User":
        user = self.model(email=self.normalize_email(email).lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: object) -> "User":
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)


class User(AbstractBaseUser, PermissionsMixin):
    """A person, customer or staff, identified by e-mail address."""

    brand_through = ("registered_brand", "staff_roles", "points_rows", "audit_entries")

    email = models.EmailField(
        _("e-mail address"), max_length=254, unique=True, error_messages={"unique": _("This e-mail address is taken.")}
    )
    first_name = models.CharField(_("first name"), max_length=150, blank=True)
    last_name = models.CharField(_("last name"), max_length=150, blank=True)
    registered_brand = models.ForeignKey(
        Brand,
        models.PROTECT,
        null=True,
        blank=True,
        related_name="registered_users",
        verbose_name=_("registered brand"),
    )
    is_staff = models.BooleanField(_("works for a brand"), default=False, help_text=_("May log in to the portal."))
    is_active = models.BooleanField(
        _("active"), default=True, help_text=_("Untick to block this account, starting with its next request.")
    )
    last_login = MomentField(_("last login"), null=True, blank=True)
    date_joined = MomentField(_("date joined"), default=timezone.now, editable=False)
    email_verified_at = MomentField(
        _("address verified"),
        null=True,
        blank=True,
        editable=False,
        help_text=_("Empty until the address is confirmed."),
    )
    # Incremented to end all sessions of the user; each token and portal session carries the epoch it started with.
    session_epoch = models.PositiveIntegerField(_("session epoch"), default=0, db_default=0, editable=False)
    # For staff: the portal's language; empty means the browser's. A customer's language is in their account.
    portal_language = models.CharField(
        _("language of the portal"), max_length=7, blank=True, default="", db_default="", editable=False
    )

    objects = UserManager()

    # The one brand that the user has selected in the portal; portal.shell.brand_switcher sets it for a request.
    chosen_brand_id: int | None = None
    # The only brand of a session that a brand's identity provider started: brands.staff_login.sessions.
    session_brand_id: int | None = None

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS = []

    class Meta:
        verbose_name = _("user")
        verbose_name_plural = _("users")
        ordering = ["email"]
        constraints = [
            check("email_is_lowercase", Q(email=Lower("email")), message=_("Write the e-mail address in lowercase."))
        ]

    def __str__(self) -> str:
        return self.email

    def _get_session_auth_hash(self, secret: str | None = None) -> str:
        """The hash that Django compares for each portal session. It changes with the epoch."""
        result: str = super()._get_session_auth_hash(secret)  # type: ignore[misc] # the stubs do not know it
        return f"{self.session_epoch}.{result}" if self.session_epoch else result

    def get_full_name(self) -> str:
        return f"{self.first_name} {self.last_name}".strip() or self.email

    def get_short_name(self) -> str:
        return self.first_name or self.email


class StaffRole(models.Model):
    """What a member of staff may do for a brand."""

    class Role(models.TextChoices):
        OWNER = "owner", _("Owner")
        MANAGER = "manager", _("Manager")
        PRINTER = "printer", _("Printer (codes and print)")
        SUPPORT = "support", _("Support (read and search)")

    user = models.ForeignKey(User, models.CASCADE, related_name="staff_roles", verbose_name=_("user"))
    brand = models.ForeignKey(Brand, models.CASCADE, related_name="staff_roles", verbose_name=_("brand"))
    role = models.CharField(_("role"), max_length=10, choices=Role.choices)

    class Meta:
        verbose_name = _("staff role")
        verbose_name_plural = _("staff roles")
        ordering = ["brand_id", "user_id"]
        constraints = [
            models.UniqueConstraint(fields=["user", "brand"], name="one_role_per_brand"),
            check("staff_role_known", Q(role__in=["owner", "manager", "printer", "support"])),
        ]

    def __str__(self) -> str:
        return f"{self.user}, {self.get_role_display()} of {self.brand}"
