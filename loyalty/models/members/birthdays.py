"""Birthdays of customers: day and month only, which is enough to give points on them."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.people import User
from brands.models.tenants import Brand
from core.db.constraints import check
from core.moments import MomentField


class Birthday(models.Model):
    """A customer's birthday as one brand knows it. `set_at` is when it was last set to this day."""

    customer_through = ("user",)

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False)
    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    month = models.PositiveSmallIntegerField(_("month"))
    day = models.PositiveSmallIntegerField(_("day"))
    set_at = MomentField(default=timezone.now)

    class Meta:
        verbose_name = _("birthday")
        verbose_name_plural = _("birthdays")
        ordering = ["-id"]
        indexes = [models.Index(fields=["brand", "month", "day", "id"], name="birthdays_by_day")]
        constraints = [
            models.UniqueConstraint(fields=["brand", "user"], name="one_birthday_per_customer"),
            check(
                "birthday_is_a_day",
                Q(month__range=(1, 12), day__range=(1, 31))
                & (Q(day__lte=29) | ~Q(month=2))
                & (Q(day__lte=30) | ~Q(month__in=[4, 6, 9, 11])),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.month:02}-{self.day:02}"
