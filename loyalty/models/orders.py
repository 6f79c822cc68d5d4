"""What a brand takes for an order's money, and whom each order was credited to."""

from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.people import User
from brands.models.tenants import Brand
from core import currencies
from core.moments import MomentField


class CurrencyRate(models.Model):
    """What a brand counts another currency for. An order in a currency without a rate earns nothing."""

    brand = models.ForeignKey(Brand, on_delete=models.CASCADE, related_name="+", db_index=False)
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
            models.CheckConstraint(condition=Q(rate__gt=0), name="currency_rate_positive"),
        ]

    def __str__(self) -> str:
        return self.currency


class CreditedOrder(models.Model):
    """An order of a brand's shop, and the one customer whom it was credited to."""

    customer_by = ("user",)

    brand = models.ForeignKey(Brand, on_delete=models.PROTECT, related_name="+", db_index=False)
    order_id = models.CharField(_("order id"), max_length=200)
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    credited_at = MomentField(_("credited at"), default=timezone.now)

    class Meta:
        verbose_name = _("credited order")
        verbose_name_plural = _("credited orders")
        ordering = ["-id"]
        constraints = [models.UniqueConstraint(fields=["brand", "order_id"], name="order_credited_to_one")]

    def __str__(self) -> str:
        return self.order_id
