"""Recalls that were withdrawn."""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from authcodes.models.batches import BatchRange
from brands.models.people import User
from core.moments import MomentField


class WithdrawnRecall(models.Model):
    """A recall as it was until an owner withdrew it, with the reason. The batch may be recalled again."""

    guarded_by = ("batch",)

    batch = models.ForeignKey(
        BatchRange, on_delete=models.PROTECT, related_name="withdrawn_recalls", verbose_name=_("batch")
    )
    recall_id = models.CharField(_("recall id"), max_length=64)
    contact = models.CharField(_("contact"), max_length=200)
    message = models.TextField(_("message"))
    reason = models.TextField(_("reason"))
    recalled_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, related_name="+", verbose_name=_("recalled by")
    )
    recalled_at = MomentField(_("recalled at"))
    withdrawn_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, related_name="+", verbose_name=_("withdrawn by")
    )
    withdrawn_at = MomentField(_("withdrawn at"), default=timezone.now)
    withdrawal_reason = models.TextField(_("withdrawal reason"))

    class Meta:
        verbose_name = _("withdrawn recall")
        verbose_name_plural = _("withdrawn recalls")
        ordering = ["-withdrawn_at", "-id"]

    def __str__(self) -> str:
        return self.recall_id
