"""Printed files as a phone's camera reads them, decoded by programs that share no code with the printing."""

import csv
import io
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import zxingcpp
from django.conf import settings
from PIL import Image

from authcodes.codes.ranges import resolve_range
from authcodes.models.prints import PrintRun
from authcodes.printing import runs, selection
from authcodes.printing.request import PrintRequest
from jobs import runner
from jobs.models import Job

SCHEME = "https" if settings.HTTPS else "http"  # of the addresses that this process prints


def start(batch: Any, *, by: Any = None, first: str = "", last: str = "", **request_fields: Any) -> PrintRun:
    code_range = resolve_range(batch=batch, first=first or batch.first_code, last=last or batch.last_code)
    return runs.start(selection=selection.of_range(code_range), print_request=PrintRequest(**request_fields), by=by)


def finished(run: PrintRun) -> PrintRun:
    """The run, after a worker has run its job."""
    runner.run(run.job_id)
    return PrintRun.objects.select_related("job").get(pk=run.pk)


def content(job: Job) -> bytes:
    with job.result.open("rb") as file:
        return bytes(file.read())


def manifest(data: bytes) -> list[dict[str, str]]:
    archive = zipfile.ZipFile(io.BytesIO(data))
    assert archive.testzip() is None
    return list(csv.DictReader(io.StringIO(archive.read("manifest.csv").decode(), newline="")))


def decode_image(data: bytes) -> str:
    (symbol,) = zxingcpp.read_barcodes(Image.open(io.BytesIO(data)))
    return str(symbol.text)


def pages(data: bytes, folder: Path, dpi: int, last: int = 10_000) -> list[Path]:
    """The pages of a PDF up to the last requested, as pictures drawn by poppler."""
    (folder / "sheet.pdf").write_bytes(data)
    subprocess.run(["pdftoppm", "-r", str(dpi), "-l", str(last), "-gray", "sheet.pdf", "page"], cwd=folder, check=True)
    return sorted(folder.glob("page*.pgm"))


def decode_pages(data: bytes, folder: Path, dpi: int = 300, last: int = 10_000) -> list[list[str]]:
    """The texts of the QR codes on each page of a PDF, up to the last requested.

    Other kinds of symbols are not read: a page of many labels sometimes has a spot that could be taken for one.
    """
    drawn = pages(data, folder, dpi, last)
    formats = zxingcpp.BarcodeFormats(zxingcpp.BarcodeFormat.QRCode)
    symbols = [zxingcpp.read_barcodes(Image.open(page), formats=formats) for page in drawn]
    return [sorted(each.text for each in of_page) for of_page in symbols]
