"""Converts the wizard's answers about members and scope to conditions, and back."""

from collections.abc import Mapping
from typing import Any

from brands.models.tenants import Brand
from campaigns.earning import choices
from core.numbers import is_id

ALL_MEMBERS, LEVELS, SEGMENTS = "all", "level", "segment"
# The wizard's form field for each condition.
FORM_FIELDS = {"level": "levels", "segment": "segments", "product": "products", "batch": "batches", "city": "places"}
ID_FIELDS = {"segment", "product", "batch"}  # conditions whose values are IDs


def conditions_of(cleaned: Mapping[str, Any]) -> dict[str, Any]:
    """The conditions for the wizard's answers, which must all hold; empty if everything counts for all members."""
    answers = {name: cleaned[form_field] for name, form_field in FORM_FIELDS.items()}
    for name in {LEVELS, SEGMENTS} - {cleaned["audience"]}:
        answers[name] = ()
    rows = [
        {"field": name, "operator": "in", "value": [int(each) if name in ID_FIELDS else each for each in values]}
        for name, values in answers.items()
        if values
    ]
    return {"all": rows} if rows else {}


def places_in(text: str) -> list[str]:
    """The places that are separated by commas, each once."""
    return list(dict.fromkeys(filter(None, (each.strip() for each in text.split(",")))))


def initial_of(conditions: Mapping[str, Any], *, brand: Brand) -> dict[str, Any] | None:
    """The wizard's answers that make these conditions. None if the wizard cannot express or offer one of them."""
    initial: dict[str, Any] = {"audience": ALL_MEMBERS}
    for row in conditions.get("all", ()):
        name, values = FORM_FIELDS.get(row.get("field", "")), row.get("value")
        if name is None or not isinstance(values, list):
            return None
        initial[name] = ", ".join(map(str, values)) if name == "places" else [str(each) for each in values]
        if row["field"] in {LEVELS, SEGMENTS}:
            initial["audience"] = row["field"]
    answers = {**dict.fromkeys(FORM_FIELDS.values(), ()), **initial, "places": places_in(initial.get("places", ""))}
    if not _are_offered(answers, brand) or _by_field(conditions_of(answers)) != _by_field(conditions):
        return None
    return initial


def _are_offered(answers: Mapping[str, Any], brand: Brand) -> bool:
    """Whether the brand still has each level, segment, product and batch."""
    if set(answers["levels"]) - set(brand.levels.values_list("name", flat=True)):
        return False
    for name in ("segments", "products", "batches"):
        ids = {int(each) if is_id(each) else 0 for each in answers[name]}
        if ids and set(choices.labels_of(brand, name, ids)) != ids:
            return False
    return True


def _by_field(conditions: Mapping[str, Any]) -> Any:
    """The conditions in one order, for comparing them."""
    rows = conditions.get("all", ())
    return set(conditions), sorted(rows, key=lambda row: str(row.get("field"))) if rows else []
