"""Tells which changes of the API's description would break a program that was written for an earlier one.

What programs send may only be asked for less narrowly, what they get may only be promised more narrowly. New errors
and new members of answers are no break: programs have to bear them.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from published.openapi import FILE

RELEASED = FILE.with_name("openapi-released.json")
METHODS = ("get", "put", "post", "delete", "patch", "head", "options")
# What is for people; a release is kept without it.
WORDS = {"description", "example", "examples", "summary", "title"}
LOWER_BOUNDS = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties")
UPPER_BOUNDS = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties")

Schema = Mapping[str, Any]


def bare(part: Any, *, names: bool = False) -> Any:
    """A description without its words. `names`: its members are named by us, `title` may be one of them."""
    if isinstance(part, list):
        return [bare(each) for each in part]
    if not isinstance(part, dict):
        return part
    kept = {name: value for name, value in part.items() if names or name not in WORDS}
    return {name: bare(value, names=name in {"properties", "schemas"} and not names) for name, value in kept.items()}


def breaks(old: Schema, new: Schema) -> list[str]:
    """What a program written for `old` would stumble over in `new`, each with its place."""
    return list(dict.fromkeys(_Comparison(old, new).all()))


@dataclass
class _Comparison:
    old: Schema
    new: Schema
    # Pairs of references under comparison, so that a type that holds itself comes to an end.
    open: set[tuple[str, str, bool]] = field(default_factory=set)

    def all(self) -> Iterator[str]:
        for path, item in self.old["paths"].items():
            for method in METHODS:
                if method in item:
                    there = self.new["paths"].get(path, {}).get(method)
                    where = f"{method.upper()} {path}"
                    yield from self.operation(where, item[method], there) if there else [f"{where}: removed"]

    def operation(self, where: str, old: Schema, new: Schema) -> Iterator[str]:
        if old.get("operationId") != new.get("operationId"):
            yield f"{where}: operationId was {old.get('operationId')}, is {new.get('operationId')}"
        yield from self.security(where, old, new)
        yield from self.parameters(where, old, new)
        yield from self.body(where, old.get("requestBody"), new.get("requestBody"))
        yield from self.responses(where, old["responses"], new["responses"])

    def security(self, where: str, old: Schema, new: Schema) -> Iterator[str]:
        """Each way in that was enough must still be enough."""
        wanted = [set(each) for each in new.get("security", [{}])]
        for each in old.get("security", [{}]):
            if not any(need <= set(each) for need in wanted):
                yield f"{where}: {' and '.join(each) or 'nobody'} no longer suffices"

    def parameters(self, where: str, old: Schema, new: Schema) -> Iterator[str]:
        before, now = ({(p["in"], p["name"].lower()): p for p in each.get("parameters", [])} for each in (old, new))
        for key, each in before.items():
            place = f"{where}, {key[0]} {each['name']}"
            if key not in now:
                yield f"{place}: removed"
                continue
            if now[key].get("required") and not each.get("required"):
                yield f"{place}: now required"
            yield from self.schema(place, each.get("schema", {}), now[key].get("schema", {}), given=True)
        for key in now.keys() - before.keys():
            if now[key].get("required"):
                yield f"{where}, {key[0]} {now[key]['name']}: new and required"

    def body(self, where: str, old: Schema | None, new: Schema | None) -> Iterator[str]:
        if new and new.get("required") and not (old and old.get("required")):
            yield f"{where}: a body is now required"
        if not old:
            return
        if not new:
            yield f"{where}: body removed"
            return
        yield from self.content(f"{where}, body", old["content"], new["content"], given=True)

    def responses(self, where: str, old: Schema, new: Schema) -> Iterator[str]:
        succeeds = [status for status in new if status[0] in "23"]
        for status, response in old.items():
            if status not in new:
                yield f"{where}: {status} removed"
                continue
            place = f"{where}, {status}"
            for name in response.get("headers", {}).keys() - new[status].get("headers", {}).keys():
                yield f"{place}: header {name} removed"
            yield from self.content(place, response.get("content", {}), new[status].get("content", {}), given=False)
        for status in succeeds:
            if status not in old:
                yield f"{where}: {status} added"

    def content(self, where: str, old: Schema, new: Schema, *, given: bool) -> Iterator[str]:
        for kind, media in old.items():
            if kind not in new:
                yield f"{where}: {kind} removed"
            else:
                yield from self.schema(where, media.get("schema", {}), new[kind].get("schema", {}), given=given)

    def schema(self, where: str, old: Schema, new: Schema, *, given: bool) -> Iterator[str]:
        """`given`: programs send it, else they get it."""
        pair = (json.dumps(old, sort_keys=True), json.dumps(new, sort_keys=True), given)
        if pair in self.open:
            return
        self.open.add(pair)
        try:
            yield from self.plain(where, flat(old, self.old), flat(new, self.new), given=given)
        finally:
            self.open.discard(pair)

    def plain(self, where: str, old: Schema, new: Schema, *, given: bool) -> Iterator[str]:
        # What was taken must still be taken; what comes must have been foreseen.
        wide, narrow = (new, old) if given else (old, new)
        verb = "no longer taken" if given else "new"
        if lost := kinds(narrow) - kinds(wide):
            yield f"{where}: type {', '.join(sorted(lost))} {verb}"
        yield from self.values(where, old, new, given=given)
        yield from self.bounds(where, wide, narrow)
        yield from self.members(where, old, new, given=given)
        if "items" in old and "items" in new:
            yield from self.schema(f"{where}[]", old["items"], new["items"], given=given)
        for name in ("anyOf", "oneOf"):
            yield from self.choices(where, old.get(name, []), new.get(name, []), given=given)

    def values(self, where: str, old: Schema, new: Schema, *, given: bool) -> Iterator[str]:
        """A value that is gone breaks both: who sends it, and who waits for it. An error's may grow."""
        before, now = allowed(old), allowed(new)
        if before is None and now is not None and given:
            yield f"{where}: only {', '.join(now)} taken now"
        if before is None or now is None:
            if before is not None and not given:
                yield f"{where}: any value now, was {', '.join(before)}"
            return
        for value in before:
            if value not in now:
                yield f"{where}: value {value} removed"
        is_error = where.endswith(".error")
        for value in [] if given or is_error else now:
            if value not in before:
                yield f"{where}: value {value} new"

    def bounds(self, where: str, wide: Schema, narrow: Schema) -> Iterator[str]:
        for name in LOWER_BOUNDS:
            if name in wide and wide[name] > narrow.get(name, float("-inf")):
                yield f"{where}: {name} {narrow.get(name, 'none')} and {wide[name]} do not fit"
        for name in UPPER_BOUNDS:
            if name in wide and wide[name] < narrow.get(name, float("inf")):
                yield f"{where}: {name} {narrow.get(name, 'none')} and {wide[name]} do not fit"
        for name in ("pattern", "format"):
            if name in wide and wide[name] != narrow.get(name):
                yield f"{where}: {name} {narrow.get(name, 'none')} and {wide[name]} do not fit"

    def members(self, where: str, old: Schema, new: Schema, *, given: bool) -> Iterator[str]:
        before, now = old.get("properties", {}), new.get("properties", {})
        was, is_ = set(old.get("required", [])), set(new.get("required", []))
        for name in before:
            if name not in now:
                yield f"{where}.{name}: removed"
            else:
                yield from self.schema(f"{where}.{name}", before[name], now[name], given=given)
        for name in sorted(is_ - was) if given else sorted(was & now.keys() - is_):
            yield f"{where}.{name}: {'now required' if given else 'may be absent now'}"
        closed = new.get("additionalProperties") is False and old.get("additionalProperties") is not False
        if given and closed and "properties" in old:
            yield f"{where}: takes no other members any more"

    def choices(self, where: str, old: Sequence[Schema], new: Sequence[Schema], *, given: bool) -> Iterator[str]:
        """Each alternative that was taken has one that takes it; each that comes was foreseen by one."""
        if not old and not (given and new):
            return
        sources, targets = (old or [{}], new or [{}]) if given else (new or [{}], old)
        for number, source in enumerate(sources):
            found = [list(self.between(where, source, target, given=given)) for target in targets]
            if all(found):
                yield from min(found, key=len) if len(sources) == 1 else [f"{where}: alternative {number + 1} breaks"]

    def between(self, where: str, source: Schema, target: Schema, *, given: bool) -> Iterator[str]:
        old, new = (source, target) if given else (target, source)
        return self.schema(where, old, new, given=given)


def flat(schema: Schema, whole: Schema) -> dict[str, Any]:
    """A schema with its references followed and what `allOf` adds put in."""
    found: dict[str, Any] = {}
    if "$ref" in schema:
        target: Any = whole
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        found = flat(target, whole)
    for part in schema.get("allOf", []):
        found = merged(found, flat(part, whole))
    return merged(found, {name: value for name, value in schema.items() if name not in {"$ref", "allOf"}})


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


def kinds(schema: Schema) -> set[str]:
    """The types of JSON that a schema lets in; whole numbers are numbers."""
    every = {"string", "number", "integer", "boolean", "object", "array", "null"}
    stated = schema.get("type")
    found = every if stated is None else {stated} if isinstance(stated, str) else set(stated)
    return found | {"integer"} if "number" in found else found


def allowed(schema: Schema) -> list[str] | None:
    """The values that a schema lets in, as JSON; None for any."""
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    return None if values is None else [json.dumps(value) for value in values]


def main(arguments: Sequence[str]) -> int:
    new = bare(json.loads(FILE.read_text()))
    if "--release" in arguments:
        RELEASED.write_text(json.dumps(new, ensure_ascii=False, separators=(",", ":"), sort_keys=True) + "\n")
        print(f"Released: {RELEASED}")
        return 0
    found = breaks(json.loads(Path(RELEASED).read_text()), new)
    print("\n".join(found), file=sys.stderr, end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
