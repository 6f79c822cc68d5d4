"""The history of codes: who changed which codes, when and why."""

import uuid

from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from authcodes.models.batches import BatchRange
from authcodes.models.imports import Import
from authcodes.models.products import Product
from brands.models.people import User
from brands.models.tenants import Brand
from core.db.constraints import check
from core.moments import MomentField


class CodeChange(models.Model):
    """One change of a run of a batch's codes. Written by history.py alone, never changed.

    `codes` is how many changed; any others in the run were in that state already, or were skipped by a long file. Runs
    changed by one action share its `action_id`.
    """

    append_only = ("reason", "detail")  # which an erasure rewrites

    class Kind(models.TextChoices):
        GENERATED = "generated", _("Generated")
        ASSIGNED = "assigned", _("Assigned")
        UNASSIGNED = "unassigned", _("Unassigned")
        IMPORTED = "imported", _("Assigned by import")
        IMPORT_UNDONE = "import_undone", _("Import undone")
        DEACTIVATED = "deactivated", _("Deactivated")
        REACTIVATED = "reactivated", _("Reactivated")
        RECALLED = "recalled", _("Recalled")
        RECALL_WITHDRAWN = "recall_withdrawn", _("Recall withdrawn")
        EDITED = "edited", _("Edited")
        PRINTED_ELSEWHERE = "printed", _("Printed elsewhere")
        DELIVERED = "delivered", _("Delivered to shops")
        DELIVERY_UNDONE = "delivery_undone", _("Delivery undone")

    brand = models.ForeignKey(Brand, models.PROTECT, related_name="+", db_index=False, verbose_name=_("brand"))
    batch = models.ForeignKey(
        BatchRange, models.PROTECT, related_name="changes", db_index=False, verbose_name=_("batch")
    )
    action_id = models.UUIDField(default=uuid.uuid4)
    kind = models.CharField(_("kind"), max_length=16, choices=Kind.choices)
    first_code = models.CharField(_("first code"), max_length=64, db_collation="C")
    last_code = models.CharField(_("last code"), max_length=64, db_collation="C")
    codes = models.PositiveIntegerField(_("number"), help_text=_("How many codes changed."))
    product = models.ForeignKey(
        Product, models.PROTECT, null=True, blank=True, related_name="+", db_index=False, verbose_name=_("product")
    )
    upload = models.ForeignKey(
        Import, models.PROTECT, null=True, blank=True, related_name="+", db_index=False, verbose_name=_("import")
    )
    detail = models.TextField(_("detail"), blank=True, help_text=_("What was set."))
    reason = models.TextField(_("reason"), blank=True)
    changed_by = models.ForeignKey(
        User, models.PROTECT, null=True, blank=True, related_name="+", db_index=False, verbose_name=_("who")
    )
    changed_at = MomentField(_("when"), default=timezone.now)

    class Meta:
        verbose_name = _("code change")
        verbose_name_plural = _("code changes")
        ordering = ["-id"]
        indexes = [
            models.Index(fields=["batch", "-id"], name="code_change_of_batch"),
            models.Index(fields=["brand", "-id"], name="code_change_of_brand"),
            models.Index(fields=["action_id"], name="code_change_of_action"),
        ]
        constraints = [
            check(
                "code_change_kind_known",
                Q(
                    kind__in=[
                        "generated",
                        "assigned",
                        "unassigned",
                        "imported",
                        "import_undone",
                        "deactivated",
                        "reactivated",
                        "recalled",
                        "recall_withdrawn",
                        "edited",
                        "printed",
                        "delivered",
                        "delivery_undone",
                    ]
                ),
            ),
            check("code_change_run_in_order", Q(first_code__lte=F("last_code"))),
        ]

    def __str__(self) -> str:
        return f"{self.get_kind_display()}: {self.run}"

    @property
    def run(self) -> str:
        return self.first_code if self.first_code == self.last_code else f"{self.first_code} … {self.last_code}"
