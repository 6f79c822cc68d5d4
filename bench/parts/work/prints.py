"""Print files: ZIPs of QR images and PDFs of label sheets, against the methods in the libraries' documentation."""

import gc
import io
import os
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import partial
from multiprocessing import get_context
from statistics import median
from typing import IO, Any

import qrcode
import weasyprint

from authcodes.printing.labels import sheet_pdf
from authcodes.printing.labels.design import Design, Label
from authcodes.printing.labels.presets import PRESETS
from authcodes.printing.qr import archive, encoder
from authcodes.printing.qr import images as qr
from authcodes.printing.qr.archive import Image
from bench.harness import Figure, Scale, interleaved, orientation, ratio, say
from bench.parts.scans.generate import memory, reset_peak_memory

PART = "prints"
SIZE = Decimal("50.8")
PLAIN_CODES, PLAIN_PAGES = 300, 3
CORES = os.cpu_count() or 1
PRESET = PRESETS["letter-30"]
DESIGN = Design(sheet=PRESET.sheet, qr_mm=PRESET.qr_mm)


def measure(scale: Scale) -> list[Figure]:
    rounds = scale.pick(5, 3, 1)
    return [*images(rounds, scale), *labels(rounds, scale)]


def payload(number: int) -> str:
    """As long as a signed code's address."""
    return f"https://scan.example.com/s/ABC{number:010d}.8K2MZ{number % 10_000:04d}1T"


def some(quantity: int, *, start: int = 0) -> Iterator[Image]:
    return (Image(f"ABC{number:010d}", payload(number)) for number in range(start, start + quantity))


def images(rounds: int, scale: Scale) -> list[Figure]:
    quantity = scale.pick(100_000, 50_000, 100)
    verified_of, plain_of = min(archive.ALL_VERIFIED // 4, quantity), min(PLAIN_CODES, quantity)
    ways: dict[str, Callable[[], float]] = {
        "archive": partial(archived, quantity, CORES),
        "archive, every image verified": partial(archived, verified_of, CORES),
        "archive, one process": partial(archived, quantity, 1),
        "qrcode + Pillow": partial(plain_images, plain_of),
    }
    for way in ways.values():
        way()
    results_by_name, other_load = interleaved(PART, rounds, ways)
    both, verified, one, plain = results_by_name.values()
    first = [first_bytes(100) for _ in range(rounds)]
    many = scale.pick(1_000_000, 200_000, 200)
    rate, used, done = in_separate_process(large_archive, many)
    say(f"  {done}")
    return [
        ratio(PART, f"PNG + ZIP of {quantity:,} / plain qrcode + Pillow", both, plain, goal=30),
        ratio(PART, "the same with one process", one, plain),
        ratio(PART, "of 2,500, every one verified / plain", verified, plain),
        orientation(PART, "PNG + ZIP, with verification", both, "/s"),
        orientation(PART, "plain qrcode + Pillow + zipfile", plain, "/s"),
        Figure(PART, "first bytes of 100 codes, nothing prepared", median(first), "s", 1, at_least=False),
        Figure(PART, f"memory of the process that writes {many:,} images", used, "MB", 200, at_least=False),
        Figure(PART, f"{many:,} images", rate, "/s", note=f"{done.checked_share:.1%} verified"),
        other_load,
    ]


def archived(quantity: int, processes: int) -> float:
    """Images per second, including their verification."""
    began = time.perf_counter()
    with tempfile.TemporaryFile() as file:
        done = archive.write(file, some(quantity), kind="png", size_mm=SIZE, processes=processes)
    assert done.files == quantity
    return quantity / (time.perf_counter() - began)


def plain_images(quantity: int) -> float:
    """As in the library's documentation, at the same size."""
    began = time.perf_counter()
    with tempfile.TemporaryFile() as file, zipfile.ZipFile(file, "w") as archive:
        for image in some(quantity):
            code = qrcode.QRCode(error_correction=qrcode.constants.ERROR_CORRECT_M, box_size=15)
            code.add_data(image.payload)
            code.make()
            content = io.BytesIO()
            code.make_image().save(content)
            archive.writestr(f"{image.code}.png", content.getvalue())
    return quantity / (time.perf_counter() - began)


class First:
    """A file that only records when it was first written to."""

    def __init__(self) -> None:
        self.at = 0.0

    def write(self, data: bytes) -> int:
        self.at = self.at or time.perf_counter()
        return len(data)


def first_bytes(quantity: int) -> float:
    return float(in_separate_process(_first_bytes, quantity))


def _first_bytes(quantity: int) -> float:
    encoder.encoders.clear()
    file: Any = First()
    began = time.perf_counter()
    archive.write(file, some(quantity), kind="png", size_mm=SIZE)
    return file.at - began


def large_archive(quantity: int) -> tuple[float, float, archive.Archived]:
    began = time.perf_counter()
    with tempfile.TemporaryFile() as file:
        done = archive.write(file, some(quantity), kind="png", size_mm=SIZE, processes=CORES)
    assert done.files == quantity
    return quantity / (time.perf_counter() - began), memory("VmHWM"), done


def labels(rounds: int, scale: Scale) -> list[Figure]:
    pages, most = scale.pick((200, 3_000), (50, 600), (2, 12))
    ways: dict[str, Callable[[], float]] = {
        "label sheets": partial(printed, pages),
        "WeasyPrint": partial(plain_pages, min(PLAIN_PAGES, pages)),
    }
    for way in ways.values():
        way()
    results_by_name, other_load = interleaved(PART, rounds, ways)
    own, plain = results_by_name.values()
    few, much = (in_separate_process(pages_memory, number) for number in (10, most))
    return [
        ratio(PART, f"label PDF of {pages} pages / WeasyPrint, an SVG each", own, plain, goal=10),
        orientation(PART, "label PDF", own, "p/s"),
        orientation(PART, "WeasyPrint, an SVG per label", plain, "p/s"),
        Figure(PART, f"memory from 10 to {most:,} pages", much - few, "MB", 10, at_least=False),
        other_load,
    ]


def described(quantity: int) -> Iterator[Label]:
    return (
        Label(image.payload, image.code, "Olive oil, extra virgin", "OIL-500", note="Best before 2027-01-31")
        for image in some(quantity)
    )


def printed(pages: int) -> float:
    """Pages per second."""
    began = time.perf_counter()
    with tempfile.TemporaryFile() as file:
        done = sheet_pdf.write(file, described(pages * 30), DESIGN)
    assert done == pages
    return pages / (time.perf_counter() - began)


def plain_pages(pages: int) -> float:
    """One document with an SVG for each label; the SVGs are ours, so that only the documents are compared."""
    sheet = DESIGN.sheet
    boxes = "".join(
        f'<div class="label" style="left: {x}mm; top: {y}mm">{{}}<p>{{}}</p></div>' for x, y in sheet.places()
    )
    began = time.perf_counter()
    drawn = []
    for page in range(pages):
        cells = []
        for image in some(30, start=page * 30):
            cells += (qr.svg(text=image.payload, size_mm=DESIGN.qr_mm).decode(), image.code)
        drawn.append(f"<section>{boxes.format(*cells)}</section>")
    style = (
        f"@page {{ size: {sheet.page_width}mm {sheet.page_height}mm; margin: 0 }} p {{ margin: 0; font-size: 6pt }}"
        f"section {{ position: relative; height: {sheet.page_height}mm }} .label {{ position: absolute }}"
        f"svg {{ width: {DESIGN.qr_mm}mm; height: {DESIGN.qr_mm}mm; display: block }}"
    )
    document = weasyprint.HTML(string=f"<style>{style}</style>{''.join(drawn)}").render()
    assert len(document.pages) == pages
    document.write_pdf(io.BytesIO())
    return pages / (time.perf_counter() - began)


def pages_memory(pages: int) -> float:
    gc.collect()
    before = reset_peak_memory()
    file: IO[bytes]
    with tempfile.TemporaryFile() as file:
        sheet_pdf.write(file, described(pages * 30), DESIGN)
    return memory("VmHWM") - before


def in_separate_process(work: Callable[[int], Any], argument: int) -> Any:
    """Run in a process whose memory holds nothing of earlier work, apart from its initial state."""
    context = get_context("fork")
    answers, child_end = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(work, argument, child_end))
    process.start()
    child_end.close()
    results_by_name = answers.recv()
    process.join()
    return results_by_name


def _answer(work: Callable[[int], Any], argument: int, answers: Any) -> None:
    answers.send(work(argument))
