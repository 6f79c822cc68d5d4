"""Files that staff import through the portal."""

import io
import zipfile
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.core.files.uploadedfile import SimpleUploadedFile

from brands.models.people import User
from brands.models.tenants import Brand
from core.spreadsheets.xlsx import Workbook
from tests.support.portal import address, browser, text


def upload(person: User, label: str, brand: Brand, content: str | bytes, *, name: str = "file.csv") -> Any:
    """The answer to the upload: a redirect to the preview, or the page with what is wrong."""
    data = content.encode() if isinstance(content, str) else content
    sent = {"brand": brand.pk, "file": SimpleUploadedFile(name, data)}
    return browser(person).post(address(label, "import"), sent)


def preview(person: User, label: str, brand: Brand, content: str | bytes) -> Any:
    answer = upload(person, label, brand, content)
    assert answer.status_code == 302, problem(answer)
    return browser(person).get(answer["Location"])


def ticket_of(page: Any) -> str:
    ticket: str = page.context_data["ticket"]
    return ticket


def ticket_of_upload(answer: Any) -> str:
    query = urlsplit(str(answer["Location"])).query
    return parse_qs(query)["ticket"][0]


def confirm(person: User, label: str, ticket: str) -> Any:
    return browser(person).post(address(label, "import_confirm"), {"ticket": ticket})


def imported(person: User, label: str, brand: Brand, content: str | bytes) -> Any:
    return confirm(person, label, ticket_of(preview(person, label, brand, content)))


def counts(page: Any) -> dict[str, int]:
    return {str(label): number for label, number in page.context_data["counts"] if number}


def faults(page: Any) -> dict[int, str]:
    """What the preview says is wrong, by line."""
    return {row.line: row.problem for row in page.context_data["faulty"]}


def problem(answer: Any) -> str:
    """What a rejected upload or confirmation says."""
    if "problem" in answer.context_data:
        return str(answer.context_data["problem"])
    return " ".join(str(each) for errors in answer.context_data["form"].errors.values() for each in errors)


def exported(person: User, label: str, brand: Brand, *, format: str = "csv", query: str = "") -> bytes:  # noqa: A002
    sent = {"brand": brand.pk, "format": format}
    answer = browser(person).post(address(label, "import_export") + query, sent)
    assert answer["Content-Disposition"].startswith("attachment"), text(answer)
    content: bytes = answer.content
    return content


def workbook(columns: list[str], rows: list[list[str]]) -> bytes:
    file = io.BytesIO()
    with Workbook(file, columns=columns) as sheet:
        for row in rows:
            sheet.add(row)
    return file.getvalue()


def workbook_of(sheet: str, *, padding: int = 0) -> bytes:
    """A workbook whose only sheet is `sheet`, as somebody writes it by hand."""
    file = io.BytesIO()
    relation = '<Relationship Id="r1" Type="x" Target="worksheets/sheet1.xml"/>'
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "xl/workbook.xml", '<workbook xmlns:r="o"><sheets><sheet name="S" r:id="r1"/></sheets></workbook>'
        )
        archive.writestr("xl/_rels/workbook.xml.rels", f"<Relationships>{relation}</Relationships>")
        archive.writestr("xl/worksheets/sheet1.xml", sheet + " " * padding)
    return file.getvalue()
