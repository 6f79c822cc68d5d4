"""Archives: ZIP files of QR images with a manifest, written as a stream; each image is verified before it is added."""

import csv
import hashlib
import io
import re
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from itertools import islice
from typing import IO, Any, BinaryIO, Literal, cast

from authcodes.printing.process_pool import map_in_processes
from authcodes.printing.qr import images, verification
from authcodes.printing.qr.encoder import Level
from authcodes.printing.qr.zip_stream import Writer
from core.spreadsheets.csv_files import neutral

Kind = Literal["png", "svg"]
MANIFEST = "manifest.csv"
COLUMNS = ["code", "file", "sha256", "payload"]
CHUNK = 100  # images that a process makes at a time
ALL_VERIFIED = 10_000  # the first images; of the others one in VERIFIED_EVERY, and the last
VERIFIED_EVERY = 100

_UNSAFE = re.compile(r"[^0-9A-Z_.-]|^[.-]")
_MAX_NAME_LENGTH = 100
# Names that Windows takes for devices, whatever follows the first dot.
_DEVICE = re.compile(r"(CON|PRN|AUX|NUL|(COM|LPT)[0-9])(\.|$)")


@dataclass(frozen=True, slots=True)
class Image:
    code: str
    payload: str
    level: Level = Level.M


@dataclass(frozen=True, slots=True)
class Archived:
    """A complete archive: its images, its own SHA-256 and its manifest's, and how many images were verified."""

    files: int
    sha256: str
    verified: int
    checked_share: float  # of the images, 0 to 1
    manifest_sha256: str


@dataclass(frozen=True, slots=True)
class _Made:
    image: Image
    name: str
    data: bytes
    sha256: str
    verified: bool


def safe_name(code: str, kind: str) -> str:
    """A file name that is valid on every system and unique to the code, even where case is ignored.

    Codes of A-Z, 0-9, `-`, `_` and `.` are their own names. Others get a part of their SHA-256 at the end.
    """
    name = _UNSAFE.sub("_", code.upper())[:_MAX_NAME_LENGTH] or "_"
    if _DEVICE.match(name):
        name = f"_{name}"
    if name != code:
        name += f"~{hashlib.sha256(code.encode()).hexdigest()[:12].upper()}"
    return f"{name}.{kind}"


def write(
    file: BinaryIO,
    images: Iterable[Image],
    *,
    kind: Kind,
    size_mm: Decimal,
    progress: Callable[[int], None] | None = None,
    processes: int = 1,
) -> Archived:
    """Write a ZIP of `images`, in their order, then a manifest. Calls `progress` with their number; it may raise.

    Memory does not grow with their number. Raises Unreadable for an image without its payload.
    """
    hashed = _Hashed(file)
    make = partial(_make, kind=kind, size_mm=size_mm)
    verified, last = 0, None
    with Writer(cast("BinaryIO", hashed)) as archive, _Manifest() as manifest:
        for chunk in map_in_processes(make, _numbered(images), processes=processes):
            for last in chunk:
                archive.add(last.name, last.data)
                manifest.add(last)
                verified += last.verified
            if progress is not None:
                progress(archive.entries)
        if last is not None and not last.verified:
            verification.verify(last.data, last.image.payload, kind=kind, code=last.image.code)
            verified += 1
        files = archive.entries
        archive.add_file(MANIFEST, manifest.content(), size=manifest.size, crc=manifest.crc)
    share = verified / files if files else 1.0
    return Archived(files, hashed.sha256.hexdigest(), verified, share, manifest.sha256.hexdigest())


def _numbered(images: Iterable[Image]) -> Iterator[tuple[int, list[Image]]]:
    """Chunks of images, each with the number of its first image, from 0."""
    remaining, number = iter(images), 0
    while chunk := list(islice(remaining, CHUNK)):
        yield number, chunk
        number += len(chunk)


def _make(numbered: tuple[int, list[Image]], *, kind: Kind, size_mm: Decimal) -> list[_Made]:
    first, chunk = numbered
    made = []
    for number, image in enumerate(chunk, first):
        draw = images.svg if kind == "svg" else images.png
        data = draw(text=image.payload, size_mm=size_mm, level=image.level)
        verified = number < ALL_VERIFIED or number % VERIFIED_EVERY == 0
        if verified:
            verification.verify(data, image.payload, kind=kind, code=image.code)
        if kind == "png" and number % VERIFIED_EVERY == 0:
            verification.expect(verification.read_png_by_pillow(data), image.payload, image.code)
        made.append(_Made(image, safe_name(image.code, kind), data, hashlib.sha256(data).hexdigest(), verified))
    return made


class _Manifest:
    """The manifest's rows, in a temporary file until all are known."""

    def __init__(self) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - __exit__ closes it
        self.size = self.crc = 0
        self.sha256 = hashlib.sha256()
        self._row(COLUMNS)

    def __enter__(self) -> "_Manifest":
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def add(self, made: _Made) -> None:
        self._row([made.image.code, made.name, made.sha256, made.image.payload])

    def content(self) -> IO[bytes]:
        self._file.seek(0)
        return self._file

    def _row(self, cells: list[str]) -> None:
        text = io.StringIO()
        csv.writer(text, quoting=csv.QUOTE_ALL).writerow(map(neutral, cells))
        line = text.getvalue().encode()
        self._file.write(line)
        self.size += len(line)
        self.crc = zlib.crc32(line, self.crc)
        self.sha256.update(line)


class _Hashed:
    """A file for writing that hashes the data it passes on."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.sha256 = hashlib.sha256()

    def write(self, data: Any) -> int:
        self.sha256.update(data)
        return self._file.write(data)
