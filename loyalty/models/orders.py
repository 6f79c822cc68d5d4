"""Exchange rates for orders, the customer credited for each order, and returns."""

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.people import User
from brands.models.tenants import Brand
from core import currencies
from core.db.constraints import check
from core.moments import MomentField


class CurrencyRate(models.Model):
    """A brand's rate for another currency. An order in a currency without a rate earns nothing."""

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False, verbose_name=_("brand"))
    currency = models.CharField(
        _("currency"), max_length=3, validators=[currencies.validate], help_text=_("Such as USD.")
    )
    rate = models.DecimalField(
        _("rate"),
        max_digits=18,
        decimal_places=8,
        validators=[MinValueValidator(0)],
        help_text=_("How much one unit of this currency is worth in the brand's currency."),
    )

    class Meta:
        verbose_name = _("currency rate")
        verbose_name_plural = _("currency rates")
        ordering = ["brand_id", "currency"]
        constraints = [
            models.UniqueConstraint(fields=["brand", "currency"], name="one_rate_per_currency"),
            check("currency_rate_positive", Q(rate__gt=0)),
        ]

    def __str__(self) -> str:
        return self.currency


class CreditedOrder(models.Model):
    """An order of a brand's shop, and the one customer to whom it was credited."""

    customer_through = ("user",)

    brand = models.ForeignKey(Brand, models.PROTECT, related_name="+", db_index=False)
    order_id = models.CharField(_("order id"), max_length=200)
    user = models.ForeignKey(User, models.PROTECT, related_name="+")
    credited_at = MomentField(_("credited at"), default=timezone.now)
    # As the shop reported them, for later returns. Null for orders credited before these columns existed.
    amount = models.DecimalField(_("amount"), max_digits=12, decimal_places=2, null=True)
    currency = models.CharField(_("currency"), max_length=3, blank=True, default="", db_default="")
    items = models.JSONField(_("items"), default=list, db_default=[])
    event_id = models.UUIDField(_("event id"), null=True)

    class Meta:
        verbose_name = _("credited order")
        verbose_name_plural = _("credited orders")
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["brand", "order_id"], name="order_credited_to_one")]

    def __str__(self) -> str:
        return self.order_id


class OrderReturn(models.Model):
    """A return of an order that a shop reported, and the number of points that it reversed."""

    customer_through = ("user",)

    class Kind(models.TextChoices):
        RETURNED = "order-returned", _("Returned")
        CANCELLED = "order-cancelled", _("Cancelled")

    class Status(models.TextChoices):
        WAITING = "waiting", _("Waiting for its order")
        APPLIED = "applied", _("Applied")
        REJECTED = "rejected", _("Rejected")

    brand = models.ForeignKey(Brand, models.PROTECT, related_name="+", db_index=False, verbose_name=_("brand"))
    order_id = models.CharField(_("order id"), max_length=200)
    return_id = models.CharField(_("return id"), max_length=40)
    user = models.ForeignKey(User, models.PROTECT, related_name="+", verbose_name=_("customer"))
    kind = models.CharField(_("kind"), max_length=16, choices=Kind.choices)
    status = models.CharField(_("status"), max_length=10, choices=Status.choices, default=Status.WAITING)
    amount = models.DecimalField(
        _("amount"), max_digits=12, decimal_places=2, default=0, help_text=_("In the order's currency.")
    )
    request = models.JSONField(_("request"), default=dict, help_text=_("What the shop asked to return."))
    points_reversed = models.DecimalField(
        _("points reversed"),
        max_digits=10,
        decimal_places=2,
        default=0,
        help_text=_("Taken from the balance, or owed if the balance was too small."),
    )
    points_cancelled = models.DecimalField(_("pending points cancelled"), max_digits=10, decimal_places=2, default=0)
    event = models.BigIntegerField(_("event"), help_text=_("The event that reported the return."))
    created_at = MomentField(_("reported at"), default=timezone.now)
    applied_at = MomentField(_("applied at"), null=True)

    class Meta:
        verbose_name = _("order return")
        verbose_name_plural = _("order returns")
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["brand", "order_id", "return_id"], name="return_reported_once"),
            check("return_not_negative", Q(amount__gte=0, points_reversed__gte=0, points_cancelled__gte=0)),
            check(
                "only_applied_returns_take_points",
                Q(status="applied", applied_at__isnull=False)
                | Q(status__in=["waiting", "rejected"], applied_at=None, points_reversed=0, points_cancelled=0),
            ),
            check("return_kind_known", Q(kind__in=["order-returned", "order-cancelled"])),
        ]

    def __str__(self) -> str:
        return f"{self.order_id}: {self.return_id}"
