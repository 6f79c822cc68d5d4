"""Chains of relations that the models allow, for tests that attack the portal's URLs with them."""

from collections.abc import Iterator, Sequence

from django.apps import apps
from django.db.models import Model

OWN_APPS = {"brands", "events", "jobs", "campaigns", "loyalty", "authcodes"}
MAX_LENGTH = 3
COMPARISONS = (
    "exact", "in", "gt", "gte", "lt", "lte", "range", "isnull", "startswith", "contains", "icontains", "regex",
)  # fmt: skip


def own_models() -> list[type[Model]]:
    return [model for model in apps.get_models() if model._meta.app_label in OWN_APPS]


def relations_of(model: type[Model]) -> Iterator[tuple[str, type[Model]]]:
    """Every relation of a model, forward and reverse, under its name in a lookup."""
    for field in model._meta.get_fields():
        if field.is_relation and isinstance(field.related_model, type):
            yield field.name, field.related_model


def relation_chains(model: type[Model], max_length: int = MAX_LENGTH) -> Iterator[tuple[str, type[Model]]]:
    """Every chain of one to `max_length` relations, with the model at its end."""
    level: Sequence[tuple[str, type[Model]]] = [("", model)]
    for _ in range(max_length):
        level = [(f"{path}__{name}".lstrip("_"), target) for path, end in level for name, target in relations_of(end)]
        yield from level


def lookups(model: type[Model], path: str = "") -> Iterator[str]:
    """Every lookup of a column at the end of a chain, or of the model's own columns without one."""
    prefix = f"{path}__" if path else ""
    yield from (f"{path}__{comparison}" for comparison in COMPARISONS if path)
    yield from (f"{prefix}pk__{comparison}" for comparison in COMPARISONS)
    yield from (f"{prefix}{name}" for field in model._meta.concrete_fields for name in (field.name, field.attname))
    yield from (f"{prefix}{field.name}__gte" for field in model._meta.concrete_fields)
    yield from (f"{prefix}{field.name}__startswith" for field in model._meta.concrete_fields)
    key = model._meta.pk.name
    yield from (f"{prefix}{key}__{comparison}" for comparison in COMPARISONS)
