"""Reports changes of the API's description that would break a program written for an earlier version.

Requests may only become less restricted, and responses more restricted. New errors and new members of answers do not
break anything: programs must tolerate them.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from published.openapi import FILE

RELEASED = FILE.with_name("openapi-released.json")
METHODS = ("get", "put", "post", "delete", "patch", "head", "options")
# Texts for people; a release's description is stored without them.
TEXT_KEYS = {"description", "example", "examples", "summary", "title"}
LOWER_BOUNDS = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
UPPER_BOUNDS = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")
TYPES = {"string", "number", "integer", "boolean", "object", "array", "null"}

Schema = Mapping[str, Any]
# The path of an element: an operation, its parameters, body and answers, and so on to the members of each.
Place = tuple[str, ...]


def bare(part: Any, *, names: bool = False) -> Any:
    """A description without its texts. `names`: its keys are names that we chose, so `title` may be one of them."""
    if isinstance(part, list):
        return [bare(each) for each in part]
    if not isinstance(part, dict):
        return part
    result = {name: value for name, value in part.items() if names or name not in TEXT_KEYS}
    return {name: bare(value, names=name in {"properties", "schemas"} and not names) for name, value in result.items()}


def breaks(old: Schema, new: Schema) -> list[str]:
    """What would break a program written for `old` in `new`, each with its place."""
    return list(dict.fromkeys(_all_breaks(dict(places(old)), dict(places(new)))))


def _all_breaks(before: Mapping[Place, Schema], now: Mapping[Place, Schema]) -> Iterator[str]:
    for place, old in before.items():
        where = "".join(place)
        if place in now:
            yield from changes(where, old, now[place])
        elif place[:-1] in now or len(place) == 1:
            yield f"{where}: removed"
    for place, new in now.items():
        if place not in before and place[:-1] in before and new.get("appears"):
            yield f"{''.join(place)}: {new['appears']}"


def places(api: Schema) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Every place of a description with what can break there. `sent`: by programs; otherwise they receive it."""
    for path, item in api["paths"].items():
        for method in METHODS:
            if method in item:
                yield from _operation((f"{method.upper()} {path}",), item[method], api)


def _operation(place: Place, operation: Schema, api: Schema) -> Iterator[tuple[Place, dict[str, Any]]]:
    ways_in = [frozenset(each) for each in operation.get("security", [{}])]
    yield place, {"operation": operation.get("operationId"), "security": ways_in}
    for parameter in operation.get("parameters", []):
        each = flat(parameter, api)
        at = (*place, f", {each['in']} {each['name'].lower()}")
        required = bool(each.get("required"))
        for inner, properties in _schema(at, each.get("schema", {}), api, sent=True):
            more = {"must": required, "appears": "new and required" if required else ""} if inner == at else {}
            yield inner, properties | more
    if body := operation.get("requestBody"):
        required = bool(body.get("required"))
        yield (*place, ", body"), {"must": required, "appears": "now required" if required else ""}
        yield from _contents((*place, ", body"), body, api, sent=True)
    for status, answer in operation["responses"].items():
        at = (*place, f", {status}")
        yield at, {"headers": set(answer.get("headers", {})), "appears": "added" if status[0] in "23" else ""}
        yield from _contents(at, answer, api, sent=False)


def _contents(place: Place, part: Schema, api: Schema, *, sent: bool) -> Iterator[tuple[Place, dict[str, Any]]]:
    for kind, media in part.get("content", {}).items():
        yield from _schema((*place, f" {kind}"), media.get("schema", {}), api, sent=sent)


def _schema(
    place: Place, schema: Schema, api: Schema, *, sent: bool, around: tuple[str, ...] = ()
) -> Iterator[tuple[Place, dict[str, Any]]]:
    """A schema and all its parts, except recursive types."""
    this = json.dumps(schema, sort_keys=True)
    if this in around:
        return
    plain = flat(schema, api)
    choices = {_label(each): each for name in ("anyOf", "oneOf") for each in plain.get(name, [])}
    members = {f".{name}": each for name, each in plain.get("properties", {}).items()}
    yield place, {"sent": sent, "schema": plain, "choices": set(choices)}
    inner = members | ({"[]": plain["items"]} if "items" in plain else {})
    for name, each in (inner | {f" ({label})": each for label, each in choices.items()}).items():
        yield from _schema((*place, name), each, api, sent=sent, around=(*around, this))


def _label(choice: Schema) -> str:
    """The name that identifies an alternative in both descriptions."""
    if "$ref" in choice:
        return str(choice["$ref"]).rpartition("/")[2]
    return str(choice.get("type") or json.dumps(choice, sort_keys=True))


def changes(where: str, old: Schema, new: Schema) -> Iterator[str]:
    """What breaks at a place that exists in both."""
    if old.get("operation") != new.get("operation"):
        yield f"{where}: operationId was {old['operation']}, is {new['operation']}"
    for each in old.get("security", []):  # credentials that were sufficient must stay sufficient
        if not any(needed <= each for needed in new["security"]):
            yield f"{where}: {' and '.join(each) or 'nobody'} no longer suffices"
    if new.get("must") and not old.get("must"):
        yield f"{where}: now required"
    for name in sorted(old.get("headers", set()) - new.get("headers", set())):
        yield f"{where}: header {name} removed"
    if "schema" in old:
        yield from _schema_changes(where, old, new)


def _schema_changes(where: str, old: Schema, new: Schema) -> Iterator[str]:
    sent, was, is_now = old["sent"], old["schema"], new["schema"]
    # Accepted input must stay accepted; output must stay within what was documented.
    wide, narrow = (new, old) if sent else (old, new)
    end = "no longer taken" if sent else "new"
    for name in sorted(types(narrow["schema"]) - types(wide["schema"])):
        yield f"{where}: type {name} {end}"
    for name in sorted(narrow["choices"] - wide["choices"]):
        yield f"{where}: alternative {name} {end}"
    yield from _bounds(where, wide["schema"], narrow["schema"])
    yield from _values(where, allowed(was), allowed(is_now), sent=sent)
    before, now = set(was.get("required", [])), set(is_now.get("required", []))
    for name in sorted(now - before) if sent else sorted(before & is_now.get("properties", {}).keys() - now):
        yield f"{where}.{name}: {'now required' if sent else 'may be absent now'}"
    closed = is_now.get("additionalProperties") is False and was.get("additionalProperties") is not False
    if sent and closed and "properties" in was:
        yield f"{where}: takes no other members any more"


def _bounds(where: str, wide: Schema, narrow: Schema) -> Iterator[str]:
    misfits = [name for name in LOWER_BOUNDS if name in wide and wide[name] > narrow.get(name, float("-inf"))]
    misfits += [name for name in UPPER_BOUNDS if name in wide and wide[name] < narrow.get(name, float("inf"))]
    misfits += [name for name in ("pattern", "format") if name in wide and wide[name] != narrow.get(name)]
    for name in misfits:
        yield f"{where}: {name} {narrow.get(name, 'none')} and {wide[name]} do not fit"


def _values(where: str, before: list[str] | None, now: list[str] | None, *, sent: bool) -> Iterator[str]:
    """A removed value breaks both senders and receivers. An error's values may grow."""
    if before is None or now is None:
        if sent and now is not None:
            yield f"{where}: only {', '.join(now)} taken now"
        elif not sent and before is not None:
            yield f"{where}: any value now, was {', '.join(before)}"
        return
    for value in before:
        if value not in now:
            yield f"{where}: value {value} removed"
    for value in now:
        if value not in before and not sent and not where.endswith(".error"):
            yield f"{where}: value {value} new"


def flat(schema: Schema, whole: Schema) -> dict[str, Any]:
    """A schema with its references resolved and its `allOf` merged."""
    result: dict[str, Any] = {}
    if "$ref" in schema:
        target: Any = whole
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        result = flat(target, whole)
    for part in schema.get("allOf", []):
        result = merged(result, flat(part, whole))
    return merged(result, {name: value for name, value in schema.items() if name not in {"$ref", "allOf"}})


def merged(one: dict[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    both = {**one, **other}
    if "required" in one and "required" in other:
        both["required"] = [*one["required"], *other["required"]]
    if "properties" in one and "properties" in other:
        shared = {
            name: {"allOf": [one["properties"][name], value]} if name in one["properties"] else value
            for name, value in other["properties"].items()
        }
        both["properties"] = {**one["properties"], **shared}
    return both


def types(schema: Schema) -> set[str]:
    """The JSON types that a schema allows; integers are numbers."""
    stated = schema.get("type", TYPES)
    result = {stated} if isinstance(stated, str) else set(stated)
    return result | {"integer"} if "number" in result else result


def allowed(schema: Schema) -> list[str] | None:
    """The values that a schema allows, as JSON; None for any."""
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    return None if values is None else [json.dumps(value) for value in values]


def main(arguments: Sequence[str]) -> int:
    new = bare(json.loads(FILE.read_text()))
    if "--release" in arguments:
        RELEASED.write_text(json.dumps(new, ensure_ascii=False, separators=(",", ":"), sort_keys=True) + "\n")
        print(f"Released: {RELEASED}")
        return 0
    result = breaks(json.loads(Path(RELEASED).read_text()), new)
    print("\n".join(result), file=sys.stderr, end="\n" if result else "")
    return 1 if result else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
