"""Reads a brand file: plain YAML without aliases, anchors or tags, with the line number of each value."""

import re
from dataclasses import dataclass, field
from typing import Any

import yaml

FORMAT = 1
MAX_BYTES = 1_000_000
MAX_DEPTH = 10
PREFIX = "tag:yaml.org,2002:"


class BrandFileError(Exception):
    """The problems of a file: lines of `path (line n): message`. Nothing was changed."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


@dataclass(frozen=True, slots=True)
class BrandFile:
    """The content of a file; `lines` has the line of each path, such as `campaigns[2].milestones[0].threshold`."""

    data: dict[str, Any]
    lines: dict[str, int] = field(default_factory=dict)

    def problem(self, path: str, message: str) -> str:
        """A message about the value at `path`, or about one missing there, with the nearest line number."""
        line, known = None, path
        while known and line is None:
            line = self.lines.get(known)
            known = re.sub(r"(\.[^.\[]+|\[\d+\])$", "", known) if re.search(r"[.\[]", known) else ""
        return f"{path} (line {line}): {message}" if line else f"{path}: {message}"


UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")  # not allowed in PostgreSQL's text


class _Loader(yaml.SafeLoader):
    """Decimal numbers and moments stay text, as forms take them; only `true` and `false` are booleans."""

    yaml_implicit_resolvers: Any = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Reject aliases: they can make a short file expand without end."""
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise yaml.MarkedYAMLError(problem="aliases and anchors are not allowed", problem_mark=event.start_mark)
        if getattr(event, "tag", None) is not None:
            raise yaml.MarkedYAMLError(problem="tags are not allowed", problem_mark=event.start_mark)
        return super().compose_node(parent, index)


for name, pattern, first in (
    ("bool", r"true|false", "tf"),
    ("null", r"null|~|", ["n", "~", ""]),
    ("int", r"-?(?:0|[1-9][0-9]{0,17})", "-0123456789"),
):
    _Loader.add_implicit_resolver(f"{PREFIX}{name}", re.compile(rf"^(?:{pattern})$"), list(first))


def read(content: bytes) -> BrandFile:
    """Raises BrandFileError."""
    if len(content) > MAX_BYTES:
        raise BrandFileError([f"The file is larger than {MAX_BYTES:,} bytes."])
    try:
        node: Any = yaml.compose(content.decode("utf-8-sig"), _Loader)
    except UnicodeDecodeError:
        raise BrandFileError(["The file is not UTF-8 text."]) from None
    except RecursionError:
        raise BrandFileError([f"The file is nested deeper than {MAX_DEPTH} levels."]) from None
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise BrandFileError([f"{line}{error.problem or error}"]) from None
    except yaml.YAMLError as error:
        raise BrandFileError([f"This is not valid YAML: {error}"]) from None
    if not isinstance(node, yaml.MappingNode):
        raise BrandFileError(["The file must be a mapping that begins with `format: 1`."])
    lines: dict[str, int] = {}
    file = BrandFile(_plain(node, "", lines, MAX_DEPTH), lines)
    if file.data.pop("format", None) != FORMAT:
        raise BrandFileError([file.problem("format", f"must be {FORMAT}; this release reads no other format")])
    return file


def _plain(node: Any, path: str, lines: dict[str, int], depth: int) -> Any:
    line = lines[path] = node.start_mark.line + 1
    if not depth:
        raise BrandFileError([f"line {line}: The file is nested deeper than {MAX_DEPTH} levels."])
    if isinstance(node, yaml.SequenceNode):
        return [_plain(each, f"{path}[{at}]", lines, depth - 1) for at, each in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, path, lines, depth)
    kind, text = node.tag.removeprefix(PREFIX), node.value
    if UNSTORABLE.search(text):
        raise BrandFileError([f"{path} (line {line}): The text has a character that cannot be stored."])
    return {"null": None, "bool": text == "true", "int": int(text) if kind == "int" else 0}.get(kind, text)


def _mapping(node: Any, path: str, lines: dict[str, int], depth: int) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise BrandFileError([f"line {key.start_mark.line + 1}: A key must be a name."])
        if key.value in result:
            raise BrandFileError([f"line {key.start_mark.line + 1}: The key {key.value!r} is there twice."])
        result[key.value] = _plain(value, f"{path}.{key.value}" if path else key.value, lines, depth - 1)
    return result
