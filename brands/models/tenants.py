"""Brands, their hostnames and their pictures."""

import uuid
from datetime import date, datetime
from zoneinfo import ZoneInfo

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.brand_fields import colour_field, link_field, validate_time_zone
from brands.models.level_periods import LevelPeriodModel, shorter_than_period
from core import currencies
from core.db.constraints import check
from core.moments import MomentField
from core.web.web_origins import MAX_ORIGIN_LENGTH, validate_web_origin

MAX_WEB_ORIGINS = 20


class Picture(models.Model):
    """A brand's image, re-encoded from the upload. It is never changed, so browsers may cache it for ever."""

    picture_id = models.UUIDField(_("picture id"), primary_key=True, default=uuid.uuid4, editable=False)
    brand = models.ForeignKey("Brand", models.CASCADE, related_name="pictures", verbose_name=_("brand"))
    content = models.BinaryField(_("content"), help_text=_("A logo as PNG, a photograph as JPEG."))
    content_type = models.CharField(_("content type"), max_length=20)
    width = models.PositiveSmallIntegerField(_("width"))
    height = models.PositiveSmallIntegerField(_("height"))
    small = models.BinaryField(_("small"), help_text=_("The same for pages, as WebP of a few kilobytes."))
    created_at = MomentField(default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("picture")
        verbose_name_plural = _("pictures")
        ordering = ["-created_at", "picture_id"]
        constraints = [check("picture_type_known", Q(content_type__in=["image/png", "image/jpeg"]))]

    def __str__(self) -> str:
        return f"{self.width} x {self.height}"


class Brand(LevelPeriodModel):
    """A tenant: everything else belongs to exactly one."""

    visible_to_customers = True

    class Expiry(models.TextChoices):
        NEVER = "never", _("Never")
        DAYS = "days", _("A number of days after they were earned")
        MONTHS = "months", _("A number of months after they were earned")
        MONTH_END = "month_end", _("At the end of a month")
        YEAR_END = "year_end", _("At the end of a year")

    class OrderPoints(models.TextChoices):
        AT_ONCE = "at_once", _("At once")
        AFTER_DAYS = "after_days", _("A number of days after the order")
        AFTER_DELIVERY = "after_delivery", _("When the order's delivery is confirmed")

    class AfterReturn(models.TextChoices):
        RETAIN = "retain", _("Level and progress stay as they are")
        RECOMPUTE = "recompute", _("Level and progress are computed again without the order")

    class BirthdayPoints(models.TextChoices):
        DAY = "day", _("On the birthday")
        MONTH = "month", _("On the first day of the birthday's month")

    name = models.CharField(_("name"), max_length=120)
    slug = models.SlugField(_("slug"), max_length=60, unique=True)
    time_zone = models.CharField(_("time zone"), max_length=64, default="UTC", validators=[validate_time_zone])
    support_email = models.EmailField(
        _("support e-mail address"), help_text=_("Shown to customers whose code is not recognised.")
    )
    currency = models.CharField(
        _("currency"),
        max_length=3,
        default="EUR",
        db_default="EUR",
        validators=[currencies.validate],
        help_text=_("The currency of orders. Orders in other currencies earn points only if you enter a rate."),
    )
    loyalty_active = models.BooleanField(
        _("loyalty programme active"),
        default=True,
        help_text=_("If unticked, codes can still be scanned but nothing earns points."),
    )
    auto_enroll = models.BooleanField(
        _("automatic enrolment"),
        default=True,
        help_text=_("Enrol customers automatically at their first qualifying action."),
    )
    daily_point_limit = models.DecimalField(
        _("daily point limit"),
        max_digits=10,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
    )
    monthly_point_limit = models.DecimalField(
        _("monthly point limit"),
        max_digits=10,
        decimal_places=2,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
    )
    max_points_per_scan = models.PositiveIntegerField(
        _("max points per scan"),
        default=1000,
        db_default=1000,
        validators=[MinValueValidator(1)],
        help_text=_("Higher values need a second person's approval. Only operators can raise this limit."),
    )
    protected_batches_only = models.BooleanField(
        _("protected batches only"),
        default=False,
        db_default=False,
        help_text=_("New batches must have protected codes, each with a secret tag."),
    )
    requires_confirmed_email = models.BooleanField(
        _("confirmed e-mail address required"),
        default=False,
        db_default=False,
        help_text=_(
            "Customers earn points only once they have confirmed their e-mail address. Points for "
            "earlier actions are held for 30 days and credited when they confirm."
        ),
    )
    points_expire = models.CharField(
        _("points expire"), max_length=10, choices=Expiry.choices, default=Expiry.NEVER, db_default=Expiry.NEVER.value
    )
    points_expire_after = models.PositiveIntegerField(
        _("points expire after"),
        default=0,
        db_default=0,
        help_text=_(
            "Number of days or months. For the end of a month or year: how many months or years after earning."
        ),
    )
    expiry_warning_days = models.PositiveIntegerField(
        _("expiry warning days"),
        default=14,
        db_default=14,
        validators=[MaxValueValidator(90)],
        help_text=_("Days before expiry on which members are notified. Enter 0 to send no notification."),
    )
    order_points = models.CharField(
        _("points of orders"),
        max_length=14,
        choices=OrderPoints.choices,
        default=OrderPoints.AT_ONCE,
        db_default=OrderPoints.AT_ONCE.value,
        help_text=_("When customers can spend the points. Until then the points are shown as pending."),
    )
    order_points_days = models.PositiveSmallIntegerField(
        _("days pending"),
        default=0,
        db_default=0,
        help_text=_("With delivery: the maximum number of days to wait for the confirmation. Enter 0 for no limit."),
    )
    after_return = models.CharField(
        _("after a return"),
        max_length=9,
        choices=AfterReturn.choices,
        default=AfterReturn.RETAIN,
        db_default=AfterReturn.RETAIN.value,
        help_text=_("What happens to levels and campaign progress. The points of the order are reversed in any case."),
    )
    transfers_allowed = models.BooleanField(
        _("members can give points to each other"),
        default=False,
        db_default=False,
        help_text=_("Members enter the number on the receiver's wallet pass in the app."),
    )
    transfer_daily_limit = models.PositiveIntegerField(
        _("most points that a member can give in a day"),
        default=500,
        db_default=500,
        validators=[MinValueValidator(1), MaxValueValidator(1_000_000)],
        help_text=_("The total for all other members together."),
    )
    birthday_points = models.CharField(
        _("birthday points"),
        max_length=5,
        choices=BirthdayPoints.choices,
        default=BirthdayPoints.DAY,
        db_default=BirthdayPoints.DAY.value,
        help_text=_("When birthday points are credited. An earning rule for birthdays sets how many."),
    )
    birthday_lead_days = models.PositiveSmallIntegerField(
        _("days before a birthday"),
        default=30,
        db_default=30,
        validators=[MaxValueValidator(365)],
        help_text=_(
            "A birthday entered or changed later than this earns points only from the next year. Enter 0 to give "
            "points at once."
        ),
    )
    till_works_offline = models.BooleanField(
        _("code lookup at the till without a connection"),
        default=True,
        db_default=True,
        help_text=_(
            "If ticked, tills keep digests of the newest codes with their rewards for up to 12 hours. The digests "
            "name no customer, and nothing is handed over without a connection."
        ),
    )
    colour_background = colour_field(_("background colour"), "#ffffff", _("Colour of the page background."))
    colour_text = colour_field(_("text colour"), "#1f2328", _("Must be easy to read on the background."))
    colour_accent = colour_field(_("accent colour"), "#0b57d0", _("Colour of buttons, links and bars."))
    terms_url = link_field(_("terms"), _("Customers accept them when they register on the scan page."))
    privacy_url = link_field(_("privacy notice"), _("Shown on the scan page, and to customers who register there."))
    logo = models.ForeignKey(Picture, models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("logo"))
    web_origins = ArrayField(
        models.CharField(max_length=MAX_ORIGIN_LENGTH, validators=[validate_web_origin]),
        verbose_name=_("web origins"),
        size=MAX_WEB_ORIGINS,
        default=list,
        db_default=[],
        blank=True,
        help_text=_(
            "Websites whose pages may call the API with your app key, one per line, such as https://shop.example.com. "
            "At most 20. Leave empty if only apps and servers call it."
        ),
    )
    is_sandbox = models.BooleanField(
        _("sandbox"),
        default=False,
        db_default=False,
        help_text=_(
            "For testing. Nothing is sent to customers, and the brand's codes, prints and wallet passes are marked "
            "as a test. Cannot be changed later."
        ),
    )
    # Whether any LegalText exists; without one, they are never queried.
    has_legal_texts = models.BooleanField(default=False, db_default=False, editable=False)
    created_at = MomentField(_("created at"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("brand")
        verbose_name_plural = _("brands")
        ordering = ["name", "id"]
        constraints = [
            *(
                check(f"brand_{part}_is_a_colour", Q(**{f"colour_{part}__regex": "^#[0-9a-f]{6}$"}))
                for part in ("background", "text", "accent")
            ),
            check("brand_daily_limit_not_negative", Q(daily_point_limit__isnull=True) | Q(daily_point_limit__gte=0)),
            check(
                "brand_monthly_limit_not_negative", Q(monthly_point_limit__isnull=True) | Q(monthly_point_limit__gte=0)
            ),
            check(
                "brand_expiry_makes_sense",
                Q(points_expire="never")
                | Q(points_expire="days", points_expire_after__range=(1, 3650))
                | Q(points_expire="months", points_expire_after__range=(1, 120))
                | Q(points_expire="month_end", points_expire_after__lte=120)
                | Q(points_expire="year_end", points_expire_after__lte=10),
                message=_("Points expire after 1 to 3,650 days, 1 to 120 months, or 10 years at most."),
            ),
            check("brand_expiry_warning_in_time", Q(expiry_warning_days__lte=90)),
            check(
                "brand_order_points_make_sense",
                Q(order_points="at_once", order_points_days=0)
                | Q(order_points="after_days", order_points_days__range=(1, 365))
                | Q(order_points="after_delivery", order_points_days__lte=365),
                message=_("Points of orders are pending for 1 to 365 days. Enter 0 days if they are credited at once."),
            ),
            check("brand_after_return_known", Q(after_return__in=["retain", "recompute"])),
            check(
                "brand_level_period_makes_sense",
                Q(level_period_months__range=(1, 60)) & (Q(level_period="lifetime") | shorter_than_period()),
                message=_("The grace days and the days of warning must each be fewer than the days of the period."),
            ),
            check("brand_birthday_points_known", Q(birthday_points__in=["day", "month"])),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.time_zone)

    def day_at(self, at: datetime) -> date:
        """The day of a moment in the brand's time zone."""
        return at.astimezone(self.zone).date()


class BrandHostname(models.Model):
    """A brand's hostname: its apps' origin, its scan pages, its printed codes."""

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="hostnames", verbose_name=_("brand"))
    hostname = models.CharField(
        _("hostname"),
        max_length=253,
        unique=True,
        validators=[
            RegexValidator(r"^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$", _("Enter the hostname in lowercase."))
        ],
    )
    is_primary = models.BooleanField(
        _("primary"), default=False, help_text=_("The hostname that new QR codes are printed with.")
    )

    class Meta:
        verbose_name = _("hostname")
        verbose_name_plural = _("hostnames")
        ordering = ["hostname"]
        constraints = [
            models.UniqueConstraint(
                fields=["brand"], condition=Q(is_primary=True), name="one_primary_hostname_per_brand"
            ),
            check("hostname_is_lowercase", Q(hostname=Lower("hostname"))),
        ]

    def __str__(self) -> str:
        return self.hostname
