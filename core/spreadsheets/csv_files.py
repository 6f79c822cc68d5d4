"""Spreadsheet files: cells that no spreadsheet interprets as a formula, and uploaded CSVs read as a stream of rows."""

import codecs
import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, cast

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.errors import Invalid
from core.numbers import grouped

# Spaces and zero-width characters that spreadsheets skip before they decide whether a cell is a formula.
_SKIPPED = r"\u0020\u00a0\u00ad\u1680\u180e\u2000-\u200f\u202f\u205f\u2060\u3000\ufeff"
# = + - @ TAB CR LF | % and the full-width = + - @ (OWASP, ASVS 5.0 1.2.10), in a notation that SQL accepts, too.
_DANGEROUS = r"\u003d\u002b\u002d\u0040\u0009\u000d\u000a\u007c\u0025\uff1d\uff0b\uff0d\uff20"
# Leading quotes count: a text that begins with a quote of its own must be read back with it.
_NEEDS_QUOTE = re.compile(f"'*[{_SKIPPED}]*[{_DANGEROUS}\x00]")

FIELD_LIMIT = 10_000  # characters of one cell
ROW_LIMIT = 100_000  # characters of one row, so that a file without line ends takes no more memory than another
CHUNK = 64 * 1024
DELIMITERS = ",;\t"
INVALID = gettext_lazy("Invalid CSV format")  # the text that the specification prescribes
ADVICE = gettext_lazy("Save it as CSV (UTF-8) and upload that.")
SIGNATURES = {
    b"\x89PNG": gettext_lazy("a PNG image"),
    b"GIF8": gettext_lazy("a GIF image"),
    b"\xff\xd8\xff": gettext_lazy("a JPEG image"),
    b"%PDF": gettext_lazy("a PDF"),
    b"PK": gettext_lazy("an Excel workbook (XLSX) or another ZIP archive"),
    b"\xd0\xcf\x11\xe0": gettext_lazy("an old Excel workbook (XLS)"),
    b"\x1f\x8b": gettext_lazy("a GZIP archive"),
    b"Rar!": gettext_lazy("a RAR archive"),
    b"7z\xbc\xaf": gettext_lazy("a 7-Zip archive"),
}
BYTE_ORDER_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


class Unreadable(Invalid):
    """A file that cannot be read as CSV; the message says where and what to do."""


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one row, and the file's line on which it begins, from 1."""

    line: int
    values: list[str]


def neutral(text: str) -> str:
    """`text` as a cell that spreadsheets show and never evaluate: quoted if it could be a formula."""
    return f"'{text}" if _NEEDS_QUOTE.match(text) else text


def restored(text: str) -> str:
    """Undo `neutral`: remove exactly one quote in front of a possible formula."""
    return text[1:] if text.startswith("'") and _NEEDS_QUOTE.match(text) else text


def neutral_sql(column: str) -> str:
    """`neutral` as a PostgreSQL expression for the text expression `column`. It contains no percent sign."""
    return f"CASE WHEN {column} ~ '^''*[{_SKIPPED}]*[{_DANGEROUS}]' THEN '''' || {column} ELSE {column} END"


def read(file: IO[bytes]) -> Iterator[Row]:
    """The rows of a CSV without blank ones, the header first, in memory that does not grow with the file.

    UTF-8, or UTF-16 with a byte order mark; commas, semicolons or tabs, as in the header; any line ends. Raises
    Unreadable, possibly after many rows.
    """
    lines = _Lines(file)
    header = lines.peek()
    reader = csv.reader(lines, delimiter=max(DELIMITERS, key=header.count), strict=True)
    empty = True
    while True:
        line = lines.begin_row()
        try:
            values = next(reader, None)
        except csv.Error as error:
            raise Unreadable(_broken_quotes(line, str(error))) from error
        if values is None:
            break
        _check_cell_lengths(line, values)
        if any(values):
            empty = False
            yield Row(line, [restored(value) for value in values])
    if empty:
        raise Unreadable(f"{INVALID}: {_('the file is empty. Start from the template.')}")


def _broken_quotes(line: int, error: str) -> str:
    if "field larger" in error:
        return _too_long(line, _("a cell"), FIELD_LIMIT)
    message = _('in the row that begins on line %(line)d, a quote (") is not closed or not at its end.')
    return f"{INVALID}: {message % {'line': line}}"


def _too_long(line: int, part: str, limit: int) -> str:
    message = _("line %(line)d: %(part)s has more than %(limit)s characters. Is a closing quote missing?")
    return f"{INVALID}: {message % {'line': line, 'part': part, 'limit': grouped(limit)}}"


def _check_cell_lengths(line: int, values: list[str]) -> None:
    for number, value in enumerate(values, 1):
        if len(value) > FIELD_LIMIT:
            raise Unreadable(_too_long(line, _("the cell in column %(number)d") % {"number": number}, FIELD_LIMIT))


class _Lines(Iterator[str]):
    """The lines of a file, decoded, each ending in LF."""

    def __init__(self, file: IO[bytes]) -> None:
        self.number = 0  # lines returned so far
        self._row = (0, 0)  # characters of the current row, and its first line
        self._lines = self._split(file)
        self._ahead: list[str] = []

    def peek(self) -> str:
        """The first line, without consuming it."""
        first = next(self._lines, None)
        if first is not None:
            self._ahead.append(first)
        return first or ""

    def begin_row(self) -> int:
        """Mark the start of a row. Returns its line number."""
        self._row = (0, self.number + 1)
        return self.number + 1

    def __next__(self) -> str:
        line = self._ahead.pop() if self._ahead else next(self._lines)
        self.number += 1
        characters, first = self._row
        self._row = (characters + len(line), first)
        if characters + len(line) > ROW_LIMIT:
            raise Unreadable(_too_long(first, _("the row"), ROW_LIMIT))
        if "\0" in line:
            message = _("line %(line)d contains a NUL character and is not plain text.") % {"line": self.number}
            raise Unreadable(f"{INVALID}: {message} {ADVICE}")
        return line

    def _split(self, file: IO[bytes]) -> Iterator[str]:
        remaining, split = "", 0
        for text in _decoded(file):
            *lines, remaining = (remaining + text).split("\n")
            for line in lines:
                split += 1
                yield f"{line}\n"
            if len(remaining) > ROW_LIMIT:
                raise Unreadable(_too_long(split + 1, _("the line"), ROW_LIMIT))
        if remaining:
            yield remaining


def _decoded(file: IO[bytes]) -> Iterator[str]:
    """The file's text with LF for every line end."""
    chunk = file.read(CHUNK)
    _check_signatures(chunk)
    mark = next((mark for mark in BYTE_ORDER_MARKS if chunk.startswith(mark)), b"")
    encoding = BYTE_ORDER_MARKS.get(mark, "utf-8")
    decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(encoding)(), translate=True)
    position, ended = len(chunk), 0  # bytes read, lines ended
    chunk = chunk[len(mark) :]
    while True:
        try:
            # The type stubs only allow text here, but the decoder takes bytes.
            text = decoder.decode(cast("str", chunk), final=not chunk)
        except UnicodeDecodeError as error:
            line = ended + 1 + _line_ends(error.object[: error.start], encoding)
            raise Unreadable(_undecodable(line, position - len(error.object) + error.start, encoding)) from error
        ended += text.count("\n")
        yield text
        if not chunk:
            return
        chunk = file.read(CHUNK)
        position += len(chunk)


def _line_ends(good: bytes, encoding: str) -> int:
    return len(re.findall(r"\r\n|\r|\n", good.decode(encoding, "replace")))


def _undecodable(line: int, position: int, encoding: str) -> str:
    name = encoding[:6].upper().rstrip("-")
    message = _("line %(line)d (byte %(byte)s) is not %(encoding)s text.")
    return f"{INVALID}: {message % {'line': line, 'byte': grouped(position + 1), 'encoding': name}} {ADVICE}"


def _check_signatures(beginning: bytes) -> None:
    for signature, kind in SIGNATURES.items():
        # The two letters "PK" could begin a text; what follows them in an archive could not.
        if beginning.startswith(signature) and not (signature == b"PK" and beginning[2:3] not in b"\1\3\5\7"):
            message = _("this is %(kind)s, not a CSV.") % {"kind": kind}
            raise Unreadable(f"{INVALID}: {message} {ADVICE}")
