"""XLSX files written row by row into a stream, in memory that does not grow with them."""

import re
import zipfile
from collections.abc import Sequence
from types import TracebackType
from typing import IO, Self

ROWS_PER_SHEET = 1_048_576  # the limit of ECMA-376 and Excel, including the header row
CHUNK = 256 * 1024  # characters written to the archive at once
# XML allows no other control characters; Excel writes them, and text that looks like it, as _xHHHH_.
_UNWRITABLE = re.compile("[\x00-\x08\x0b-\x1f\ufffe\uffff]|_(?=x[0-9A-Fa-f]{4}_)")
_SPECIAL = re.compile("[&<>_\x00-\x08\x0b-\x1f\ufffe\uffff]")

XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
SHEET_BEGINS = f'{XML}<worksheet xmlns="{MAIN}"><sheetData>'
SHEET_ENDS = "</sheetData></worksheet>"
# Format 1 is text that stays text when edited: the effect of the leading ' in Excel's formula bar.
STYLES = (
    f'{XML}<styleSheet xmlns="{MAIN}"><fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>'
    '</fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    '<cellXfs count="2"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    '<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" quotePrefix="1" applyNumberFormat="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
)


class Workbook:
    """A context manager that writes an XLSX into `file`: `columns` as every sheet's first row, then `add`ed rows.

    Cells of columns named in `numbers` are numbers, all others are text; none is ever a formula.
    """

    def __init__(self, file: IO[bytes], *, columns: Sequence[str], numbers: Sequence[str] = ()) -> None:
        self._columns = columns
        self._before, self._after = [], []
        for place, name in enumerate(columns):
            letter = column_letters(place)
            number = name in numbers
            kind = "" if number else ' s="1" t="inlineStr"'
            self._before.append(
                (f'<c r="{letter}', f'"{kind}>' + ("<v>" if number else '<is><t xml:space="preserve">'))
            )
            self._after.append("</v></c>" if number else "</t></is></c>")
        self._archive = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1)
        self._sheet: IO[bytes] | None = None
        self._sheets = 0
        self._row = 0
        self._parts: list[str] = []
        self._waiting = 0

    def __enter__(self) -> Self:
        self._begin_sheet()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_sheet()
        if kind is None:
            self._describe()
        self._archive.close()

    def add(self, values: Sequence[str | None]) -> None:
        """Append a row; None leaves a cell empty."""
        if self._row == ROWS_PER_SHEET:
            self._end_sheet()
            self._begin_sheet()
        self._row += 1
        row = self._row
        cells = [
            f"{before}{row}{kind}{_SPECIAL.sub(_escaped, value)}{after}"
            for (before, kind), value, after in zip(self._before, values, self._after, strict=True)
            if value is not None
        ]
        self._write(f'<row r="{row}">{"".join(cells)}</row>')

    def _begin_sheet(self) -> None:
        self._sheets += 1
        # The size is unknown until the sheet ends, so space for more than 2 GB must be reserved first.
        self._sheet = self._archive.open(f"xl/worksheets/sheet{self._sheets}.xml", "w", force_zip64=True)
        self._row = 1
        titles = "".join(
            f'<c r="{column_letters(place)}1" s="1" t="inlineStr"><is><t>{_SPECIAL.sub(_escaped, name)}</t></is></c>'
            for place, name in enumerate(self._columns)
        )
        self._write(f'{SHEET_BEGINS}<row r="1">{titles}</row>')

    def _end_sheet(self) -> None:
        self._write(SHEET_ENDS)
        self._flush()
        if self._sheet:
            self._sheet.close()

    def _write(self, text: str) -> None:
        self._parts.append(text)
        self._waiting += len(text)
        if self._waiting >= CHUNK:
            self._flush()

    def _flush(self) -> None:
        if self._sheet:
            self._sheet.write("".join(self._parts).encode())
        self._parts, self._waiting = [], 0

    def _describe(self) -> None:
        """Write the parts that describe the archive's content."""
        numbers = range(1, self._sheets + 1)
        spreadsheet = "application/vnd.openxmlformats-officedocument.spreadsheetml"
        kinds = "".join(
            f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{spreadsheet}.worksheet+xml"/>'
            for n in numbers
        )
        sheets = "".join(f'<sheet name="Sheet{n}" sheetId="{n}" r:id="rId{n}"/>' for n in numbers)
        targets = "".join(
            f'<Relationship Id="rId{n}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{n}.xml"/>' for n in numbers
        )
        relations = f'{XML}<Relationships xmlns="{PACKAGE}/relationships">'
        self._archive.writestr(
            "[Content_Types].xml",
            f'{XML}<Types xmlns="{PACKAGE}/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Default Extension="xml" ContentType="application/xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{spreadsheet}.sheet.main+xml"/>'
            f'<Override PartName="/xl/styles.xml" ContentType="{spreadsheet}.styles+xml"/>{kinds}</Types>',
        )
        self._archive.writestr(
            "_rels/.rels",
            f'{relations}<Relationship Id="rId1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
            "</Relationships>",
        )
        self._archive.writestr(
            "xl/workbook.xml", f'{XML}<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{sheets}</sheets></workbook>'
        )
        styles = f'<Relationship Id="rId{self._sheets + 1}" Type="{OFFICE}/styles" Target="styles.xml"/>'
        self._archive.writestr("xl/_rels/workbook.xml.rels", f"{relations}{targets}{styles}</Relationships>")
        self._archive.writestr("xl/styles.xml", STYLES)


def column_letters(place: int) -> str:
    """A spreadsheet's letters for a column, counted from 0: A to Z, then AA."""
    before, letter = divmod(place, 26)
    return (column_letters(before - 1) if before else "") + chr(ord("A") + letter)


def _escaped(match: re.Match[str]) -> str:
    character = match.group()
    named = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}.get(character)
    if named:
        return named
    if character == "_" and not _UNWRITABLE.match(match.string, match.start()):
        return "_"
    return f"_x{ord(character):04X}_"
