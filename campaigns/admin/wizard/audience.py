"""Converts the wizard's answers about members and scope to conditions, and back."""

from collections.abc import Mapping, Sequence
from typing import Any

EVERYBODY, LEVELS, SEGMENTS = "all", "level", "segment"
# The wizard's form field for each condition. All conditions must hold.
FIELDS = {"level": "levels", "segment": "segments", "product": "products", "batch": "batches", "city": "places"}
OF_ROWS = {"segment", "product", "batch"}


def conditions_of(cleaned: Mapping[str, Any]) -> dict[str, Any]:
    """The conditions for the wizard's answers; empty if everything counts for all members."""
    chosen = {
        "level": cleaned["levels"] if cleaned["audience"] == LEVELS else (),
        "segment": cleaned["segments"] if cleaned["audience"] == SEGMENTS else (),
        "product": cleaned["products"],
        "batch": cleaned["batches"],
        "city": cleaned["places"],
    }
    rows = [
        {"field": name, "operator": "in", "value": [int(each) if name in OF_ROWS else each for each in values]}
        for name, values in chosen.items()
        if values
    ]
    return {"all": rows} if rows else {}


def initial_of(conditions: Mapping[str, Any]) -> dict[str, Any] | None:
    """The wizard's answers that make these conditions; None if the wizard cannot express them."""
    rows: Sequence[Any] = conditions.get("all", ()) if conditions else ()
    if conditions and set(conditions) != {"all"}:
        return None
    initial: dict[str, Any] = {"audience": EVERYBODY}
    for row in rows:
        name = FIELDS.get(row.get("field", ""))
        if name is None or row.get("operator") != "in" or name in initial or not isinstance(row.get("value"), list):
            return None
        initial[name] = ", ".join(row["value"]) if name == "places" else [str(each) for each in row["value"]]
    if "levels" in initial and "segments" in initial:
        return None
    initial["audience"] = LEVELS if "levels" in initial else SEGMENTS if "segments" in initial else EVERYBODY
    return initial
