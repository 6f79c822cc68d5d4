"""Reports: their columns, their file formats, and their conversion to CSV and XLSX."""

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
    """The last is for people: a PDF cannot be read back."""

    CSV = "csv", "CSV"
    XLSX = "xlsx", "Excel (XLSX)"
    PDF = "pdf", "PDF"


class Column(Enum):
    """A column's type, which decides how it is written."""

    TEXT = "text"
    MOMENT = "moment"  # ISO 8601 in the brand's zone, with its offset
    DAY = "day"
    NUMBER = "number"  # without a fraction if whole

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
    """The columns of a file, each with the field or expression of a QuerySet that fills it."""

    name: str
    columns: dict[str, tuple[Column, Any]]

    @property
    def numbers(self) -> list[str]:
        return [name for name, (column, _) in self.columns.items() if column is Column.NUMBER]

    def statement(self, rows: QuerySet[Any], *, csv: bool) -> tuple[str, tuple[Any, ...]]:
        """The SELECT of these columns, in their order, with its parameters. Raises EmptyResultSet if no row can
        match."""
        fillings = {f"out_{name}": filling for name, (_, filling) in self.columns.items()}
        picked = rows.select_related(None).annotate(**fillings).values_list(*fillings)
        inner, parameters = picked.query.sql_with_params()
        outer = ", ".join(column.sql(name, csv=csv) for name, (column, _) in self.columns.items())
        names = ", ".join(self.columns)
        # Names from the dictionaries below and the ORM's compiled SQL; values are passed as parameters.
        return f"SELECT {outer} FROM ({inner}) AS report ({names})", parameters  # noqa: S608


def write_csv(file: IO[bytes], report: Report, lines: Iterator[Any]) -> int:
    """Copy the rows as PostgreSQL sends them, one message each, already quoted and neutralised."""
    file.write(f"{','.join(report.columns)}\n".encode())
    number = 0
    for number, line in enumerate(lines, 1):  # noqa: B007 - the last number is the result
        file.write(line)
    return number


def write_xlsx(file: IO[bytes], report: Report, rows: Iterator[Any]) -> int:
    number = 0
    with Workbook(file, columns=list(report.columns), numbers=report.numbers) as workbook:
        for number, row in enumerate(rows, 1):  # noqa: B007 - the last number is the result
            workbook.add(row)
    return number
