"""Prefixes of codes, each reserved for one brand."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from brands.models.people import User
from brands.models.tenants import Brand
from core.db.constraints import check
from core.moments import MomentField


class CodePrefix(models.Model):
    """A prefix that only one brand may use for batches, whether or not it has any with it.

    A trigger rejects a prefix that could write another brand's codes: see prefix_is_taken in the database.
    """

    brand = models.ForeignKey(Brand, models.PROTECT, related_name="code_prefixes", verbose_name=_("brand"))
    prefix = models.CharField(_("prefix"), max_length=32, blank=True, db_collation="C")
    reserved_at = MomentField(_("reserved at"), default=timezone.now, editable=False)
    reserved_by = models.ForeignKey(
        User, models.SET_NULL, verbose_name=_("reserved by"), null=True, blank=True, related_name="+", editable=False
    )

    class Meta:
        verbose_name = _("code prefix")
        verbose_name_plural = _("code prefixes")
        ordering = ["prefix", "id"]
        constraints = [
            models.UniqueConstraint(fields=["prefix"], name="code_prefix_unique"),
            check("code_prefix_characters", Q(prefix__regex=r"^[A-Za-z0-9_-]*$")),
        ]

    def __str__(self) -> str:
        return self.prefix or str(_("(digits only)"))
