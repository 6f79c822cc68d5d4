"""Recalls that were withdrawn."""

from django.db import models
from django.utils import timezone

from authcodes.models.batches import BatchRange
from brands.models.people import User
from core.moments import MomentField


class WithdrawnRecall(models.Model):
    """A recall as it was until an owner withdrew it, with the reason. The batch may be recalled again."""

    guarded_by = ("batch",)

    batch = models.ForeignKey(BatchRange, on_delete=models.PROTECT, related_name="withdrawn_recalls")
    recall_id = models.CharField(max_length=64)
    contact = models.CharField(max_length=200)
    message = models.TextField()
    reason = models.TextField()
    recalled_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    recalled_at = MomentField()
    withdrawn_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    withdrawn_at = MomentField(default=timezone.now)
    withdrawal_reason = models.TextField()

    class Meta:
        ordering = ["-withdrawn_at", "-id"]

    def __str__(self) -> str:
        return self.recall_id
