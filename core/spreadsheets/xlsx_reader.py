"""Uploaded XLSX files read as rows of text, within limits that no archive can circumvent."""

import re
import zipfile
import zlib
from collections.abc import Iterator
from decimal import Decimal
from typing import IO, Any
from xml.parsers import expat

from django.utils.translation import gettext as _

from core.errors import Invalid
from core.spreadsheets.csv_files import FIELD_LIMIT, ROW_LIMIT, Row, Unreadable, restored

MAX_PART_BYTES = 15_000_000  # of one part of the archive, unpacked
MAX_PARTS = 500
MAX_COLUMNS = 1_000
MAX_SHARED_TEXTS = 200_000
CHUNK = 64 * 1024
INVALID = "Invalid XLSX format"
SIGNATURE = b"PK\x03\x04"
WORKBOOK, RELATIONS, SHARED = "xl/workbook.xml", "xl/_rels/workbook.xml.rels", "xl/sharedStrings.xml"
_ESCAPED = re.compile("_x(?![Dd][89A-Fa-f])([0-9A-Fa-f]{4})_")  # half a surrogate pair is no character
_REFERENCE = re.compile("([A-Z]{1,3})([0-9]{1,7})$")
_ROW_NUMBER = re.compile("[1-9][0-9]{0,6}$")


class UnreadableWorkbook(Unreadable):
    """A file that cannot be read as XLSX; the message says where and what to do."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"{INVALID}: {problem}")


def read(file: IO[bytes]) -> Iterator[Row]:
    """The rows of the first sheet without blank ones, with the sheet's own row numbers.

    Numbers come as plain decimals, booleans as TRUE and FALSE. Raises UnreadableWorkbook, also for formulas and
    error values, possibly after many rows.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            if len(archive.infolist()) > MAX_PARTS:
                raise UnreadableWorkbook(_("the archive has too many parts."))
            yield from _rows(archive)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise UnreadableWorkbook(_("the file is damaged or protected by a password.")) from error
    except (expat.ExpatError, UnicodeError, LookupError) as error:
        if isinstance(error, Invalid):
            raise
        raise UnreadableWorkbook(_("the file is damaged.")) from error


def _rows(archive: zipfile.ZipFile) -> Iterator[Row]:
    names = set(archive.namelist())
    texts = _SharedTexts() if SHARED in names else None
    if texts:
        for _part in _parse(archive, SHARED, texts):
            pass
    sheet = _Sheet(texts.collected if texts else [])
    empty = True
    for _part in _parse(archive, _first_sheet(archive, names), sheet):
        for row in sheet.take():
            empty = False
            yield row
    if empty:
        raise UnreadableWorkbook(_("the file is empty. Start from the template."))


def _first_sheet(archive: zipfile.ZipFile, names: set[str]) -> str:
    """The part that holds the workbook's first sheet."""
    workbook, relations = _Attributes("sheet"), _Attributes("Relationship")
    for name, handler in ((WORKBOOK, workbook), (RELATIONS, relations)):
        if name not in names:
            raise UnreadableWorkbook(_("this is not an Excel workbook."))
        for _part in _parse(archive, name, handler):
            pass
    keys = [value for name, value in (workbook.collected or [{}])[0].items() if name.endswith(":id")]
    targets = [each.get("Target", "") for each in relations.collected if each.get("Id") in keys]
    target = targets[0] if targets else ""
    part = target.lstrip("/") if target.startswith("/") else f"xl/{target}"
    if part not in names:
        raise UnreadableWorkbook(_("the file has no sheet."))
    return part


def _parse(archive: zipfile.ZipFile, name: str, handler: Any) -> Iterator[None]:
    """Feed a part to `handler`, a chunk at a time."""
    too_large = UnreadableWorkbook(_("the file is too large when it is unpacked."))
    if archive.getinfo(name).file_size > MAX_PART_BYTES:
        raise too_large
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _reject_doctype
    parser.StartElementHandler, parser.EndElementHandler = handler.start, handler.end
    parser.CharacterDataHandler = handler.text
    read = 0
    with archive.open(name) as part:
        while chunk := part.read(CHUNK):
            read += len(chunk)
            if read > MAX_PART_BYTES:  # whatever size the archive's directory claimed
                raise too_large
            parser.Parse(chunk, False)  # noqa: FBT003 - expat takes no keywords
            yield
    parser.Parse(b"", True)  # noqa: FBT003
    yield


def _reject_doctype(*_what: Any) -> None:
    raise UnreadableWorkbook(_("the file declares a document type, which no workbook needs."))


def _plain(name: str) -> str:
    return name.rpartition(":")[2]


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match.group(1), 16)), text)


class _Attributes:
    """Collects the attributes of every element of one name."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.collected: list[dict[str, str]] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if _plain(name) == self._name and len(self.collected) < MAX_PARTS:
            self.collected.append(attributes)

    def end(self, name: str) -> None:
        pass

    def text(self, text: str) -> None:
        pass


class _Texts:
    """Collects the text of `t` elements, without phonetic readings."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._in_text = False
        self._phonetic = 0

    def start(self, name: str, _attributes: dict[str, str]) -> None:
        plain = _plain(name)
        self._phonetic += plain == "rPh"
        self._in_text = plain == "t" and not self._phonetic

    def end(self, name: str) -> None:
        self._phonetic -= _plain(name) == "rPh"
        self._in_text = False

    def text(self, text: str) -> None:
        if self._in_text:
            self._add(text)

    def _add(self, text: str) -> None:
        self._length += len(text)
        if self._length <= ROW_LIMIT:  # a longer cell is rejected by its own limit
            self._parts.append(text)

    def _take(self) -> str:
        collected = "".join(self._parts)
        self._parts, self._length = [], 0
        return collected


class _SharedTexts(_Texts):
    """The table of texts that cells refer to by index."""

    def __init__(self) -> None:
        super().__init__()
        self.collected: list[str] = []

    def end(self, name: str) -> None:
        super().end(name)
        if _plain(name) == "si":
            self.collected.append(_unescaped(self._take()))
            if len(self.collected) > MAX_SHARED_TEXTS:
                raise UnreadableWorkbook(_("the file has too many cells."))


class _Sheet(_Texts):
    """The rows of a sheet; `take` returns the completed ones."""

    def __init__(self, shared: list[str]) -> None:
        super().__init__()
        self._shared = shared
        self._ended: list[Row] = []
        self._line = 0
        self._cells: list[str] = []
        self._kind = ""
        self._column = 0
        self._in_value = False

    def take(self) -> list[Row]:
        ended, self._ended = self._ended, []
        return ended

    def start(self, name: str, attributes: dict[str, str]) -> None:
        super().start(name, attributes)
        plain = _plain(name)
        if plain == "row":
            self._begin_row(attributes.get("r"))
        elif plain == "c":
            self._begin_cell(attributes)
        elif plain == "f":
            message = _("line %(line)d, column %(column)d holds a formula. Paste its value instead.")
            raise UnreadableWorkbook(message % self._place())
        self._in_value = plain == "v"

    def text(self, text: str) -> None:
        super().text(text)
        if self._in_value:
            self._add(text)

    def end(self, name: str) -> None:
        super().end(name)
        self._in_value = False
        plain = _plain(name)
        if plain == "c":
            self._end_cell()
        elif plain == "row":
            if any(self._cells):
                self._ended.append(Row(self._line, self._cells))
            self._cells = []

    def _place(self) -> dict[str, int]:
        return {"line": self._line, "column": self._column}

    def _begin_row(self, number: str | None) -> None:
        line = int(number) if number and _ROW_NUMBER.match(number) else self._line + 1
        if line <= self._line:
            raise UnreadableWorkbook(_("the rows are not in order."))
        self._line, self._cells, self._column = line, [], 0

    def _begin_cell(self, attributes: dict[str, str]) -> None:
        self._column += 1
        if match := _REFERENCE.match(attributes.get("r", "")):
            self._column = _number_of(match.group(1))
        if self._column > MAX_COLUMNS:
            raise UnreadableWorkbook(_("line %(line)d has too many columns.") % self._place())
        if self._column <= len(self._cells):
            raise UnreadableWorkbook(_("the cells of line %(line)d are not in order.") % self._place())
        self._kind = attributes.get("t", "n")
        self._take()

    def _end_cell(self) -> None:
        text = self._value(self._take())
        if len(text) > FIELD_LIMIT:
            message = _("line %(line)d: the cell in column %(column)d has too many characters.")
            raise UnreadableWorkbook(message % self._place())
        if "\0" in text:
            message = _("line %(line)d: the cell in column %(column)d contains a NUL character.")
            raise UnreadableWorkbook(message % self._place())
        self._cells += [""] * (self._column - 1 - len(self._cells))
        self._cells.append(text)

    def _value(self, text: str) -> str:
        if self._kind == "s":
            place = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else len(self._shared)
            if place >= len(self._shared):
                raise UnreadableWorkbook(_("the file is damaged."))
            return restored(self._shared[place])
        if self._kind in {"inlineStr", "str"}:
            return restored(_unescaped(text))
        if self._kind == "b":
            return {"1": "TRUE", "0": "FALSE"}.get(text, text)
        if self._kind == "e":
            message = _("line %(line)d, column %(column)d holds an error value.")
            raise UnreadableWorkbook(message % self._place())
        return _plain_number(text)


def _number_of(letters: str) -> int:
    """The number of a column's letters: A is 1, AA is 27."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number


def _plain_number(text: str) -> str:
    """A number as people type it: Excel writes 4.0E12 and 0.10000000000000001. Other text is returned unchanged."""
    try:
        value = float(text)
    except ValueError:
        return text
    if not text.isascii() or abs(value) >= 1e16:
        return text
    return f"{Decimal(repr(value)).normalize():f}"
