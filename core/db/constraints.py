"""CHECK constraints of models."""

from typing import Any

from django.db import models


def check(name: str, condition: models.Q, *, message: Any = None) -> models.CheckConstraint:
    """A constraint that each row fulfils the condition. `message`: what a form then tells the person who entered it."""
    return models.CheckConstraint(condition=condition, name=name, violation_error_message=message)
