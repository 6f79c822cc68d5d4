"""Recent actions that staff may undo: each offer belongs to one user, and can be used once."""

import uuid

from django.db import models
from django.utils import timezone

from brands.models.people import User
from brands.models.tenants import Brand
from core.moments import MomentField


class UndoOffer(models.Model):
    """`kind` names an entry of settings.UNDO_KINDS, which undoes the action described by `arguments`.

    Customers cannot see it: it has neither `customer_through` nor `brand_through`. It is deleted when it is used,
    when it has ended, and when its `customer` is erased.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+")
    user = models.ForeignKey(User, models.CASCADE, related_name="+")
    customer = models.ForeignKey(User, models.CASCADE, null=True, related_name="+")
    kind = models.CharField(max_length=40)
    arguments = models.JSONField(default=dict)
    created_at = MomentField(default=timezone.now)
    expires_at = MomentField()

    class Meta:
        indexes = [models.Index(fields=["expires_at"], name="undo_offer_ends")]

    def __str__(self) -> str:
        return f"{self.kind} {self.pk}"
