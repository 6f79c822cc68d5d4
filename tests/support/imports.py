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


def upload(user: User, label: str, brand: Brand, content: str | bytes, *, name: str = "file.csv") -> Any:
    """The answer to the upload: a redirect to the preview, or the page with the error."""
    data = content.encode() if isinstance(content, str) else content
    form_data = {"brand": brand.pk, "file": SimpleUploadedFile(name, data)}
    return browser(user).post(address(label, "import"), form_data)


def preview(user: User, label: str, brand: Brand, content: str | bytes) -> Any:
    answer = upload(user, label, brand, content)
    assert answer.status_code == 302, problem(answer)
    return browser(user).get(answer["Location"])


def ticket_of(page: Any) -> str:
    ticket: str = page.context_data["ticket"]
    return ticket


def ticket_of_upload(answer: Any) -> str:
    query = urlsplit(str(answer["Location"])).query
    return parse_qs(query)["ticket"][0]


def confirm(user: User, label: str, ticket: str) -> Any:
    return browser(user).post(address(label, "import_confirm"), {"ticket": ticket})


def import_file(user: User, label: str, brand: Brand, content: str | bytes) -> Any:
    return confirm(user, label, ticket_of(preview(user, label, brand, content)))


def counts(page: Any) -> dict[str, int]:
    return {str(label): number for label, number in page.context_data["counts"] if number}


def line_errors(page: Any) -> dict[int, str]:
    """The errors in the preview, by line."""
    return {row.line: errors_text(row.errors) for row in page.context_data["faulty"]}


def errors_text(errors: dict[str, str]) -> str:
    return " ".join(f"{column}: {text}" if column else text for column, text in errors.items())


def problem(answer: Any) -> str:
    """The message of a rejected upload or confirmation."""
    if "problem" in answer.context_data:
        return str(answer.context_data["problem"])
    return " ".join(str(each) for errors in answer.context_data["form"].errors.values() for each in errors)


def export_file(user: User, label: str, brand: Brand, *, format: str = "csv", query: str = "") -> bytes:  # noqa: A002
    form_data = {"brand": brand.pk, "format": format}
    answer = browser(user).post(address(label, "import_export") + query, form_data)
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
    """A workbook whose only sheet has `sheet` as its XML."""
    file = io.BytesIO()
    relation = '<Relationship Id="r1" Type="x" Target="worksheets/sheet1.xml"/>'
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "xl/workbook.xml", '<workbook xmlns:r="o"><sheets><sheet name="S" r:id="r1"/></sheets></workbook>'
        )
        archive.writestr("xl/_rels/workbook.xml.rels", f"<Relationships>{relation}</Relationships>")
        archive.writestr("xl/worksheets/sheet1.xml", sheet + " " * padding)
    return file.getvalue()
