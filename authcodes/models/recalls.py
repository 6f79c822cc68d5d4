"""Results of recalls: returned pieces, and withdrawn recalls."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from authcodes.models.batches import BatchRange, Recall
from brands.models.people import User
from brands.models.tenants import Brand
from core.db.constraints import check
from core.moments import DayField, MomentField
from core.translations import TranslationsField

MAX_PIECES = 10_000_000


class RecallReturn(models.Model):
    """Returned pieces of a recalled product, counted by staff. A wrong line is corrected by another line.

    The lines outlive a withdrawn recall, which is deleted; `WithdrawnRecall.former_id` then has its id.
    """

    append_only = ("note",)  # which an erasure rewrites

    brand = models.ForeignKey(Brand, models.PROTECT, related_name="+", db_index=False, verbose_name=_("brand"))
    recall = models.ForeignKey(
        Recall, models.DO_NOTHING, related_name="returns", db_constraint=False, db_index=False, verbose_name=_("recall")
    )
    pieces = models.IntegerField(
        _("pieces"), validators=[MinValueValidator(-MAX_PIECES), MaxValueValidator(MAX_PIECES)]
    )
    returned_on = DayField(_("returned on"))
    note = models.CharField(_("note"), max_length=500, blank=True)
    entered_by = models.ForeignKey(
        User, models.PROTECT, null=True, related_name="+", db_index=False, verbose_name=_("entered by")
    )
    entered_at = MomentField(_("entered at"), default=timezone.now, editable=False)
    # Identifies the rendered form, so that submitting it twice makes one line.
    form_id = models.UUIDField(editable=False)

    class Meta:
        verbose_name = _("return of a recall")
        verbose_name_plural = _("returns of recalls")
        ordering = ["-id"]
        indexes = [models.Index(fields=["recall", "-id"], name="returns_of_recall")]
        constraints = [
            models.UniqueConstraint(fields=["brand", "form_id"], name="recall_return_entered_once"),
            check("recall_return_is_something", ~Q(pieces=0)),
        ]

    def __str__(self) -> str:
        return f"{self.pieces} on {self.returned_on}"


class WithdrawnRecall(models.Model):
    """A recall as it was when an owner withdrew it, with the reason. Its batches may be recalled again."""

    brand = models.ForeignKey(Brand, models.PROTECT, related_name="withdrawn_recalls", verbose_name=_("brand"))
    former_id = models.BigIntegerField(null=True, editable=False)  # null: withdrawn by an older release
    recall_id = models.CharField(_("recall number"), max_length=64)
    contact = models.CharField(_("contact"), max_length=200)
    message = models.TextField(_("message"), max_length=5000)
    translations = TranslationsField(of=("message",))
    reason = models.TextField(_("reason"))
    recalled_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+", verbose_name=_("recalled by"))
    recalled_at = MomentField(_("recalled at"))
    withdrawn_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+", verbose_name=_("withdrawn by"))
    withdrawn_at = MomentField(_("withdrawn at"), default=timezone.now)
    withdrawal_reason = models.TextField(_("withdrawal reason"))

    class Meta:
        verbose_name = _("withdrawn recall")
        verbose_name_plural = _("withdrawn recalls")
        ordering = ["-withdrawn_at", "-id"]

    def __str__(self) -> str:
        return self.recall_id


class WithdrawnBatch(models.Model):
    """A batch of a withdrawn recall; first and last code if only a part of it was recalled."""

    brand_through = ("withdrawn_recall",)

    withdrawn_recall = models.ForeignKey(
        WithdrawnRecall, models.CASCADE, related_name="batches", verbose_name=_("withdrawn recall")
    )
    batch = models.ForeignKey(BatchRange, models.PROTECT, related_name="withdrawn_recalls", verbose_name=_("batch"))
    recalled_from = models.CharField(_("recalled from"), max_length=64, blank=True, db_collation="C")
    recalled_to = models.CharField(_("recalled to"), max_length=64, blank=True, db_collation="C")

    class Meta:
        verbose_name = _("batch of a withdrawn recall")
        verbose_name_plural = _("batches of withdrawn recalls")
        ordering = ["id"]
        constraints = [
            check(
                "withdrawn_batch_whole_or_in_order",
                Q(recalled_from="", recalled_to="") | Q(recalled_from__gt="", recalled_to__gte=F("recalled_from")),
            ),
        ]

    def __str__(self) -> str:
        return str(self.batch)
