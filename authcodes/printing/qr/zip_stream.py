"""ZIP files as a stream: stored entries with their sizes first, ZIP64 where needed, in constant memory."""

import shutil
import struct
import tempfile
import zlib
from types import TracebackType
from typing import IO, BinaryIO, Self

SMALL, LARGE = 0xFFFF, 0xFFFFFFFF  # the maximum of the old fields, which refers readers to the ZIP64 fields
PLAIN, ZIP64 = 20, 45  # versions needed to read
MADE_BY = 3 << 8 | ZIP64  # on Unix
FIRST_DAY = 33  # 1 January 1980, so that the same entries always make the same file
ORDINARY_FILE = 0o100644 << 16


class Writer:
    """Writes entries one after another to a file that need not be seekable (APPNOTE.TXT 6.3).

    The central directory is in a temporary file until `close`.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._directory: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - __exit__ closes it
        self._directory_size = 0
        self.at = 0  # bytes written
        self.entries = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Complete the file, unless there was an error: then it has no end record, and nothing opens it."""
        with self._directory:
            if kind is None:
                self._close()

    def add(self, name: str, data: bytes) -> None:
        """Add an entry with an ASCII name, below 4 GB."""
        self._begin(name.encode("ascii"), len(data), zlib.crc32(data))
        self._write(data)

    def add_file(self, name: str, content: IO[bytes], *, size: int, crc: int) -> None:
        """Add an entry from a file at its beginning, with known size and CRC-32."""
        self._begin(name.encode("ascii"), size, crc)
        shutil.copyfileobj(content, self._file)
        self.at += size

    def _begin(self, name: bytes, size: int, crc: int) -> None:
        if size >= LARGE or len(name) > SMALL:
            message = "an entry of 4 GB or more cannot be written"
            raise ValueError(message)
        far = self.at >= LARGE
        extra = struct.pack("<2HQ", 1, 8, self.at) if far else b""
        entry = struct.pack(
            "<4s6H3L5H2L", b"PK\x01\x02", MADE_BY, ZIP64 if far else PLAIN, 0, 0, 0, FIRST_DAY, crc, size, size,
            len(name), len(extra), 0, 0, 0, ORDINARY_FILE, LARGE if far else self.at,
        )  # fmt: skip
        self._directory.write(entry + name + extra)
        self._directory_size += len(entry) + len(name) + len(extra)
        self.entries += 1
        local = b"PK\x03\x04", PLAIN, 0, 0, 0, FIRST_DAY, crc, size, size, len(name), 0
        self._write(struct.pack("<4s5H3L2H", *local) + name)

    def _close(self) -> None:
        start, size, entries = self.at, self._directory_size, self.entries
        self._directory.seek(0)
        shutil.copyfileobj(self._directory, self._file)
        self.at += size
        if entries >= SMALL or start >= LARGE or size >= LARGE:
            there = self.at
            both = entries, entries
            self._write(struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, MADE_BY, ZIP64, 0, 0, *both, size, start))
            self._write(struct.pack("<4sLQL", b"PK\x06\x07", 0, there, 1))
        few = min(entries, SMALL)
        end = b"PK\x05\x06", 0, 0, few, few, min(size, LARGE), min(start, LARGE), 0
        self._write(struct.pack("<4s4H2LH", *end))

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self.at += len(data)
