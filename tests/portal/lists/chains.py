"""Chains of relations, as far as the models allow, for tests that attack the portal's addresses with them."""

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


def steps(model: type[Model]) -> Iterator[tuple[str, type[Model]]]:
    """Every relation of a model, forward and reverse, as a filter writes it."""
    for field in model._meta.get_fields():
        if field.is_relation and isinstance(field.related_model, type):
            yield field.name, field.related_model


def chains(model: type[Model], longest: int = MAX_LENGTH) -> Iterator[tuple[str, type[Model]]]:
    """Every chain of one to `longest` relations, with the model that it ends at."""
    level: Sequence[tuple[str, type[Model]]] = [("", model)]
    for _ in range(longest):
        level = [(f"{path}__{name}".lstrip("_"), target) for path, end in level for name, target in steps(end)]
        yield from level


def questions(model: type[Model], path: str = "") -> Iterator[str]:
    """What may be asked of each column at the end of a chain, or of the model's own columns without one."""
    before = f"{path}__" if path else ""
    yield from (f"{path}__{comparison}" for comparison in COMPARISONS if path)
    yield from (f"{before}pk__{comparison}" for comparison in COMPARISONS)
    yield from (f"{before}{name}" for field in model._meta.concrete_fields for name in (field.name, field.attname))
    yield from (f"{before}{field.name}__gte" for field in model._meta.concrete_fields)
    yield from (f"{before}{field.name}__startswith" for field in model._meta.concrete_fields)
    key = model._meta.pk.name
    yield from (f"{before}{key}__{comparison}" for comparison in COMPARISONS)
