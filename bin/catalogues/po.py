"""Catalogue files: .po, which people edit, and .mo, which programs read."""

import ast
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from catalogues.sources import Key

MAGIC = 0x950412DE
ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"})


@dataclass(slots=True)
class Entry:
    """A text in a language: one form, or one for each plural of the language. Empty if it is not translated."""

    key: Key
    plural: str = ""
    forms: list[str] = field(default_factory=list)
    place: str = ""

    @property
    def is_translated(self) -> bool:
        return bool(self.forms) and all(form.strip() for form in self.forms)


def read(path: Path) -> dict[Key, Entry]:
    """The entries of a file, without its header."""
    entries = _entries(path.read_text().splitlines()) if path.exists() else ()
    return {entry.key: entry for entry in entries if entry.key.message}


def _entries(lines: Iterable[str]) -> Iterator[Entry]:
    parts: dict[str, str] = {}
    place = current = ""
    for line in [*lines, ""]:
        if line.startswith("#: ") and not parts:
            place = line[3:]
        elif line.startswith(("msgctxt ", "msgid ", "msgid_plural ", "msgstr")):
            current, _space, text = line.partition(" ")
            parts[current] = ast.literal_eval(text)
        elif line.startswith('"') and current:
            parts[current] += ast.literal_eval(line)
        elif not line.strip() and "msgid" in parts:
            forms = [text for name, text in sorted(parts.items()) if name.startswith("msgstr")]
            key = Key(parts["msgid"], parts.get("msgctxt", ""))
            yield Entry(key, parts.get("msgid_plural", ""), forms, place)
            parts, place, current = {}, "", ""


def text(entries: Iterable[Entry], *, language: str, plurals: str) -> str:
    """The file's content, sorted by text, so that two branches that add some seldom conflict."""
    header = [
        "# What staff read in the portal. bin/messages collects the texts and compiles them; translate here.",
        'msgid ""',
        'msgstr ""',
        *(
            f"{_quoted(line)}"
            for line in (
                f"Language: {language}\n",
                "MIME-Version: 1.0\n",
                "Content-Type: text/plain; charset=UTF-8\n",
                "Content-Transfer-Encoding: 8bit\n",
                f"Plural-Forms: {plurals}\n",
            )
        ),
    ]
    ordered = sorted(entries, key=lambda entry: (entry.key.message, entry.key.context))
    blocks = ["\n".join(header), *("\n".join(_lines(entry)) for entry in ordered)]
    return "\n\n".join(blocks) + "\n"


def _lines(entry: Entry) -> Iterator[str]:
    if entry.place:
        yield f"#: {entry.place}"
    if entry.key.context:
        yield f"msgctxt {_quoted(entry.key.context)}"
    yield f"msgid {_quoted(entry.key.message)}"
    if entry.plural:
        yield f"msgid_plural {_quoted(entry.plural)}"
        for number, form in enumerate(entry.forms):
            yield f"msgstr[{number}] {_quoted(form)}"
    else:
        yield f"msgstr {_quoted(entry.forms[0] if entry.forms else '')}"


def _quoted(part: str) -> str:
    return f'"{part.translate(ESCAPES)}"'


def compiled(entries: Iterable[Entry], *, language: str, plurals: str) -> bytes:
    """The file for Python's gettext. Texts that are not translated are left out: gettext then returns the original."""
    header = f"Language: {language}\nContent-Type: text/plain; charset=UTF-8\nPlural-Forms: {plurals}\n"
    pairs = {"": header}
    for entry in entries:
        if entry.is_translated:
            context = f"{entry.key.context}\x04" if entry.key.context else ""
            plural = f"\0{entry.plural}" if entry.plural else ""
            pairs[f"{context}{entry.key.message}{plural}"] = "\0".join(entry.forms)
    return _packed({key.encode(): value.encode() for key, value in pairs.items()})


def _packed(pairs: Mapping[bytes, bytes]) -> bytes:
    """gettext's format: a header, two tables of lengths and offsets, and the texts, each followed by a zero byte."""
    keys = sorted(pairs)
    head, table = 7 * 4, 8 * len(keys)
    place, tables, texts = head + 2 * table, b"", b""
    for part in ([*keys], [pairs[key] for key in keys]):
        for each in part:
            tables += struct.pack("<II", len(each), place + len(texts))
            texts += each + b"\0"
    return struct.pack("<7I", MAGIC, 0, len(keys), head, head + table, 0, head + 2 * table) + tables + texts
