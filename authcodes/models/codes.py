"""The printed codes."""

from typing import Self

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from authcodes.models.batches import BatchRange
from authcodes.models.products import Product
from brands.models.tenants import Brand
from brands.scanned import MAX_INPUT_LENGTH
from core.db.constraints import check
from core.moments import MomentField


def codes_recalled(code: str = "code") -> Q:
    """Rows whose code is recalled now, by their batch. `code`: the path to the code, "auth_code__code" from a scan."""
    within = Q(**{f"{code}__gte": F("batch__recalled_from"), f"{code}__lte": F("batch__recalled_to")})
    return Q(batch__recall__isnull=False) & (Q(batch__recalled_to="") | within)


class AuthCodeQuerySet(models.QuerySet["AuthCode"]):
    def scanned(self) -> Self:
        return self.filter(scan_count__gt=0)

    def unscanned(self) -> Self:
        return self.filter(scan_count=0)

    def deactivated(self) -> Self:
        return self.filter(deactivated_at__isnull=False)


class AuthCode(models.Model):
    """One printed code. Its state is derived from its fields and its batch, never stored twice."""

    code = models.CharField(_("code"), max_length=64, db_collation="C")
    # The text of a symbol printed elsewhere, including the code; null for our own codes.
    payload = models.CharField(  # noqa: DJ001 - unique if set
        _("printed payload"), max_length=MAX_INPUT_LENGTH, null=True, blank=True, editable=False, db_collation="C"
    )
    brand = models.ForeignKey(Brand, models.PROTECT, related_name="+", db_index=False, verbose_name=_("brand"))
    batch = models.ForeignKey(BatchRange, models.PROTECT, related_name="codes", db_index=False, verbose_name=_("batch"))
    product = models.ForeignKey(
        Product, models.PROTECT, null=True, blank=True, related_name="codes", db_index=False, verbose_name=_("product")
    )
    points_per_scan = models.PositiveIntegerField(
        _("points per scan"), null=True, blank=True, help_text=_("Leave empty to use the batch's points.")
    )
    scan_count = models.PositiveIntegerField(_("scan count"), default=0, editable=False)
    slots_returned = models.PositiveIntegerField(
        _("slots given back"),
        default=0,
        db_default=0,
        editable=False,
        help_text=_("Scans by guests that were not claimed in time."),
    )
    first_scan_at = MomentField(_("first scan at"), null=True, blank=True, editable=False)
    first_scan_location = models.CharField(_("first scan location"), max_length=200, blank=True, editable=False)
    deactivated_at = MomentField(_("deactivated at"), null=True, blank=True, editable=False)
    inventory_location = models.CharField(_("inventory location"), max_length=120, blank=True)
    location = models.CharField(_("location"), max_length=120, blank=True)
    notes = models.TextField(_("notes"), blank=True)
    created_at = MomentField(_("created at"), default=timezone.now, editable=False)

    objects = AuthCodeQuerySet.as_manager()

    class Meta:
        verbose_name = _("code")
        verbose_name_plural = _("codes")
        ordering = ["-id"]
        # Each index serves a list's pages in their order, and can filter within the index. None has a column that a
        # scan updates, so scans touch no index.
        indexes = [
            models.Index(fields=["brand", "id"], name="auth_code_of_brand", include=["batch", "product", "created_at"]),
            models.Index(fields=["batch", "id"], name="auth_code_of_batch", include=["brand"]),
            models.Index(fields=["product", "id"], name="auth_code_of_product", include=["brand"]),
            # For the products of a batch's codes: one lookup for each product, however many codes the batch has.
            models.Index(
                fields=["batch", "product"], name="auth_code_product_in_batch", condition=Q(product__isnull=False)
            ),
            # For the locations of codes that have one.
            models.Index(
                fields=["brand", "inventory_location", "id"],
                name="auth_code_of_inventory",
                condition=Q(inventory_location__gt=""),
            ),
            models.Index(
                fields=["brand", "location", "id"], name="auth_code_of_location", condition=Q(location__gt="")
            ),
            # For codes printed elsewhere within a range to be generated.
            models.Index(fields=["code"], name="auth_code_printed_elsewhere", condition=Q(payload__isnull=False)),
        ]
        constraints = [
            # Not unique=True: that would add a second, pattern index; in "C" this one serves prefix search too.
            models.UniqueConstraint(fields=["code"], name="auth_code_unique"),
            models.UniqueConstraint(
                fields=["payload"], name="auth_code_payload_unique", condition=Q(payload__isnull=False)
            ),
            check("auth_code_gives_back_what_was_scanned", Q(slots_returned__lte=F("scan_count"))),
        ]

    def __str__(self) -> str:
        return self.code
