"""Reports: their columns, the formats of their files, and how they become CSV and XLSX."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import IO, Any

from django.db import models
from django.db.models import QuerySet

from core.spreadsheets.csv_files import neutral_sql
from core.spreadsheets.xlsx import Workbook


class Format(models.TextChoices):
    CSV = "csv", "CSV"
    XLSX = "xlsx", "Excel (XLSX)"


class ReportFormat(models.TextChoices):
    """For people too: a PDF cannot be read back."""

    CSV = "csv", "CSV"
    XLSX = "xlsx", "Excel (XLSX)"
    PDF = "pdf", "PDF"


class Column(Enum):
    """What a column holds, and so how it is written."""

    TEXT = "text"
    MOMENT = "moment"  # ISO 8601 in the brand's zone, with its offset
    DAY = "day"
    NUMBER = "number"  # whole where whole

    def sql(self, name: str, *, csv: bool) -> str:
        if self is Column.MOMENT:
            return f"""to_char({name}, 'YYYY-MM-DD"T"HH24:MI:SSTZH:TZM')"""
        if self is Column.TEXT:
            return neutral_sql(f"COALESCE({name}, '')") if csv else name
        if self is Column.NUMBER:
            return f"trim_scale({name}::numeric)"
        return name


@dataclass(frozen=True, slots=True)
class Report:
    """The columns of a file, and for each the field or expression of a QuerySet that fills it."""

    name: str
    columns: dict[str, tuple[Column, Any]]

    @property
    def numbers(self) -> list[str]:
        return [name for name, (column, _) in self.columns.items() if column is Column.NUMBER]

    def statement(self, rows: QuerySet[Any], *, csv: bool) -> tuple[str, tuple[Any, ...]]:
        """SELECT of these columns, in their order, with its parameters. Raises EmptyResultSet where no row can be."""
        fillings = {f"out_{name}": filling for name, (_, filling) in self.columns.items()}
        picked = rows.select_related(None).annotate(**fillings).values_list(*fillings)
        inner, parameters = picked.query.sql_with_params()
        outer = ", ".join(column.sql(name, csv=csv) for name, (column, _) in self.columns.items())
        names = ", ".join(self.columns)
        # Names from the dictionaries below and what the ORM compiled; values travel as parameters.
        return f"SELECT {outer} FROM ({inner}) AS report ({names})", parameters  # noqa: S608


def write_csv(file: IO[bytes], report: Report, lines: Iterator[Any]) -> int:
    """PostgreSQL sends a message per row, quoted and neutral already."""
    file.write(f"{','.join(report.columns)}\n".encode())
    number = 0
    for number, line in enumerate(lines, 1):  # noqa: B007 - the last number is the answer
        file.write(line)
    return number


def write_xlsx(file: IO[bytes], report: Report, rows: Iterator[Any]) -> int:
    number = 0
    with Workbook(file, columns=list(report.columns), numbers=report.numbers) as workbook:
        for number, row in enumerate(rows, 1):  # noqa: B007 - the last number is the answer
            workbook.add(row)
    return number
