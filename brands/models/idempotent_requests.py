"""Requests that changed something with an Idempotency-Key, and their answers."""

from django.db import models
from django.utils import timezone

from brands.models.people import User
from brands.models.tenants import Brand
from core.moments import MomentField


class IdempotentRequest(models.Model):
    """A request whose answer is repeated if it is sent again with the same key; deleted after a day."""

    customer_through = ("customer",)

    brand = models.ForeignKey(Brand, models.CASCADE, related_name="+", db_index=False)
    sender = models.CharField(max_length=40, help_text="key:<id> or user:<id>")
    key = models.CharField(max_length=255, help_text="The Idempotency-Key header.")
    digest = models.BinaryField(max_length=32, help_text="SHA-256 of the method, path and body.")
    status = models.PositiveSmallIntegerField(default=0)
    answer = models.TextField(blank=True, help_text="The body of the answer, JSON.")
    customer = models.ForeignKey(
        User, models.CASCADE, null=True, related_name="+", help_text="Whom the answer tells about."
    )
    created_at = MomentField(default=timezone.now, editable=False, db_index=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["brand", "sender", "key"], name="idempotency_key_of_sender_once"),
        ]

    def __str__(self) -> str:
        return f"{self.sender} {self.key}"
