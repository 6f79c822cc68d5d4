"""Spreadsheet files: no cell becomes a formula, every cell is restored, and memory does not grow with the file."""

import io
import tracemalloc

import pytest
from django.db import connection

from core.spreadsheets import csv_files
from core.spreadsheets.csv_files import Unreadable, neutral, neutral_sql, restored

FORMULAS = [
    *(f"{mark}cmd" for mark in ("=", "+", "-", "@", "\t", "\r", "\n", "|", "%", "＝", "＋", "－", "＠")),
    "  =1+1",
    "\u200b=1+1",
    "\ufeff\u00a0\u2060@x",
    "\u3000＝1",
    "-5",
    "'=1+1",
    "''=1+1",
    "=",
]
TEXTS = ["", "plain", "a=b", "'quoted'", "'", "O'Brien", "1-2", "Ünïcode", "' =x' and so on"[1:2], "a\n=b", "100%"]


@pytest.mark.parametrize("text", FORMULAS)
def test_formula_is_quoted_and_restored(text):
    assert neutral(text) == f"'{text}"
    assert restored(neutral(text)) == text


@pytest.mark.parametrize("text", TEXTS)
def test_other_text_is_unchanged(text):
    assert neutral(text) == restored(text) == text


def test_formula_after_a_nul_is_quoted():
    assert neutral("\0=x") == "'\0=x"


@pytest.mark.django_db
@pytest.mark.parametrize("text", [*FORMULAS, *TEXTS])
def test_postgresql_quotes_the_same_texts(text):
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {neutral_sql('it')} FROM (SELECT %s::text AS it) one", [text])
        quoted = cursor.fetchone()[0]

    assert quoted == neutral(text)


def rows(content):
    return [(row.line, row.values) for row in csv_files.read(io.BytesIO(content))]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_rows_are_read_with_their_line_numbers(delimiter, end, encoding):
    content = f'a,b{end}{end}1,\'=é{end}"2{end}3",x{end}4,y'.replace(",", delimiter)

    assert rows(content.encode(encoding)) == [(1, ["a", "b"]), (3, ["1", "=é"]), (4, ["2\n3", "x"]), (6, ["4", "y"])]


def test_character_and_line_end_may_span_two_chunks(monkeypatch):
    content = "a,b\r\né,ü\r\n".encode()
    for size in range(1, 12):
        monkeypatch.setattr(csv_files, "CHUNK", size)
        assert rows(content) == [(1, ["a", "b"]), (2, ["é", "ü"])]


UNREADABLE = {
    b"": "the file is empty",
    b"a,b\n1,\xe9\n": r"line 2 \(byte 7\) is not UTF-8",
    b"a,b\n" + b"1,2\n" * 30_000 + b"1,\xff": r"line 30002 \(byte 120,007\) is not UTF-8",
    b"\xff\xfea\0,\0b\0\n\0\0\xd8x\0": "line 2 .* is not UTF-16",
    b"a\0,\0b\0": "line 1 contains a NUL",
    b'a,b\n1,"2\n': "begins on line 2",
    b'a,b\n1,"2"3\n': "begins on line 2",
    b"a,b\n1," + b"x" * 10_001: "line 2: the cell in column 2 has more than 10,000",
    b"a,b" * 200_000: "line 1: the line has more than 100,000",
    b'a,b\n"' + b"x\n" * 100_000: "line 2: the row has more than 100,000",
    b"a,b\n" + b'"1\n",' * 30_000: "has more than 100,000",
    b"\x1f\x8b\x08": "a GZIP archive",
    b"%PDF-1.7": "a PDF",
}


@pytest.mark.parametrize(("content", "message"), UNREADABLE.items(), ids=range(len(UNREADABLE)))
def test_unreadable_file_is_rejected_with_the_position(content, message):
    with pytest.raises(Unreadable, match=f"^Invalid CSV format: .*{message}"):
        rows(content)


def test_reading_a_large_file_takes_little_memory():
    file = io.BytesIO(b"a,b\n" + b"1,2\n" * 200_000)
    tracemalloc.start()

    number = sum(1 for _ in csv_files.read(file))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert number == 200_001
    assert peak < 4_000_000
