"""Fields of redemptions, the same for customers and tills."""

from datetime import datetime
from typing import Any

from django.utils import timezone
from rest_framework import serializers

from core.api.outputs import TimestampField
from loyalty.models.rewards import Redemption
from loyalty.rewards import codes, till, undo

STATES = ["good", "used", "expired", "cancelled", "blocked"]


class CodeField(serializers.CharField):
    """A code for the till, in groups."""

    def to_representation(self, value: str) -> str:
        return codes.grouped(value)


class StateField(serializers.ChoiceField):
    """What a redemption's code is worth now."""

    def __init__(self, **options: Any) -> None:
        super().__init__(choices=STATES, source="*", **options)

    def to_representation(self, value: Any) -> str:
        return till.state_of(value, timezone.now())


class UndoUntilField(TimestampField):
    """Until when a redemption can be given back."""

    def get_attribute(self, instance: Redemption) -> datetime | None:
        return undo.undo_until(instance, timezone.now())
