"""Products that a brand sells."""

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.tenants import Brand, Picture
from core.db.constraints import check
from core.gtins import validate_check_digit
from core.moments import MomentField
from core.translations import TranslationsField


class Product(models.Model):
    """A product that a brand sells."""

    brand = models.ForeignKey(Brand, models.PROTECT, related_name="products", verbose_name=_("brand"))
    sku = models.CharField(_("SKU"), max_length=64)
    title = models.CharField(_("title"), max_length=200)
    retail_price = models.DecimalField(
        _("retail price"), max_digits=12, decimal_places=2, null=True, blank=True, validators=[MinValueValidator(0)]
    )
    redeem_point_value = models.PositiveIntegerField(
        _("points per scan"),
        null=True,
        blank=True,
        help_text=_(
            "Points of a scan, regardless of the member's level. Enter 0 or leave empty to use the level's points."
        ),
    )
    gtin = models.CharField(
        _("GTIN"),
        max_length=14,
        blank=True,
        validators=[RegexValidator(r"^([0-9]{8}|[0-9]{12,14})$", _("8, 12, 13 or 14 digits.")), validate_check_digit],
    )
    picture = models.ForeignKey(
        Picture, models.SET_NULL, null=True, blank=True, related_name="+", verbose_name=_("picture")
    )
    category = models.CharField(
        _("category"),
        max_length=80,
        blank=True,
        default="",
        db_default="",
        help_text=_("For earning rules, such as Serums."),
    )
    tags = ArrayField(
        models.CharField(max_length=40),
        size=20,
        blank=True,
        default=list,
        db_default=[],
        help_text=_("For earning rules; separate them with commas."),
        verbose_name=_("tags"),
    )
    is_active = models.BooleanField(
        _("on sale"),
        default=True,
        help_text=_(
            "Switch off for a product that is no longer sold. Its codes stay genuine, but scans earn no points."
        ),
    )
    translations = TranslationsField(of=("title",))
    created_at = MomentField(_("created at"), default=timezone.now, editable=False)
    updated_at = MomentField(
        _("updated at"), db_default=Now(), editable=False, help_text=_("Set by the database with every change.")
    )

    class Meta:
        verbose_name = _("product")
        verbose_name_plural = _("products")
        ordering = ["title", "id"]
        indexes = [
            models.Index(fields=["brand", "updated_at"], name="product_updated"),
            models.Index(fields=["brand", "-id"], name="product_newest_first"),
        ]
        constraints = [
            models.UniqueConstraint(fields=["brand", "sku"], name="sku_unique_in_brand"),
            check("retail_price_not_negative", Q(retail_price__isnull=True) | Q(retail_price__gte=0)),
        ]

    def __str__(self) -> str:
        return f"{self.title} ({self.sku})"
