"""Archives of images: ZIP files that every program opens, verified images, and portable file names."""

import csv
import hashlib
import io
import os
import shutil
import signal
import subprocess
import tempfile
import time
import tracemalloc
import zipfile
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from authcodes.printing.process_pool import map_in_processes
from authcodes.printing.qr import archive, verification
from authcodes.printing.qr import images as qr
from authcodes.printing.qr.archive import Image, safe_name
from authcodes.printing.qr.encoder import Level
from authcodes.printing.qr.zip_stream import Writer
from core.spreadsheets.csv_files import restored

URL = "https://scan.example.com/s/"
SIZE = Decimal(20)


def images(quantity, *, first=0):
    codes = (f"ABC{number:07d}" for number in range(first, first + quantity))
    return [Image(code, URL + code) for code in codes]


def write_archive(image_list, *, kind="png", **options):
    file = io.BytesIO()
    result = archive.write(file, image_list, kind=kind, size_mm=SIZE, **options)
    return file.getvalue(), result


def open_archive(data):
    return zipfile.ZipFile(io.BytesIO(data))


def manifest_of(archive):
    return list(csv.DictReader(io.StringIO(archive.read("manifest.csv").decode())))


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("kind", ["png", "svg"])
def test_an_archive_has_every_image_and_ends_with_a_manifest(kind, processes):
    image_list = images(250)

    data, result = write_archive(image_list, kind=kind, processes=processes)

    archive = open_archive(data)
    assert archive.testzip() is None
    names = archive.namelist()
    assert names == [*(f"{image.code}.{kind}" for image in image_list), "manifest.csv"]
    assert names[:-1] == sorted(names[:-1])
    read = verification.read_png if kind == "png" else verification.read_svg
    rows = manifest_of(archive)
    assert [row["code"] for row in rows] == [image.code for image in image_list]
    for image, row in zip(image_list, rows, strict=True):
        content = archive.read(row["file"])
        assert row["payload"] == image.payload == read(content)
        assert row["sha256"] == hashlib.sha256(content).hexdigest()
    assert (result.files, result.verified, result.checked_share) == (250, 250, 1)
    assert result.sha256 == hashlib.sha256(data).hexdigest()
    assert result.manifest_sha256 == hashlib.sha256(archive.read("manifest.csv")).hexdigest()


def test_file_is_the_same_for_any_number_of_processes():
    assert write_archive(images(350), processes=1)[0] == write_archive(images(350), processes=3)[0]


def test_images_have_the_requested_size_and_level():
    data, _ = write_archive(
        [replace(image, level=level) for image, level in zip(images(2), (Level.H, Level.L), strict=True)]
    )

    for code, level in (("ABC0000000", Level.H), ("ABC0000001", Level.L)):
        assert open_archive(data).read(f"{code}.png") == qr.png(text=f"{URL}{code}", size_mm=SIZE, level=level)


def test_an_archive_without_images_has_only_a_manifest():
    data, result = write_archive([])

    assert open_archive(data).namelist() == ["manifest.csv"]
    assert (result.files, result.verified) == (0, 0)


@pytest.mark.skipif(shutil.which("unzip") is None, reason="unzip is not installed")
@pytest.mark.parametrize("quantity", [3, 300])
def test_unzip_accepts_the_archive(quantity, tmp_path):
    path = tmp_path / "codes.zip"
    path.write_bytes(write_archive(images(quantity))[0])

    outcome = subprocess.run(["unzip", "-t", path], capture_output=True, text=True, check=False)

    assert outcome.returncode == 0
    assert "No errors detected" in outcome.stdout


def test_the_manifest_is_safe_for_spreadsheets():
    codes = ["=cmd|' /C calc'!A0", "+1", "@x", 'say "hi", you', "plain"]

    rows = manifest_of(open_archive(write_archive([Image(code, code) for code in codes])[0]))

    assert [row["code"] for row in rows[:3]] == [f"'{code}" for code in codes[:3]]
    assert [restored(row["code"]) for row in rows] == [restored(row["payload"]) for row in rows] == codes


def test_first_images_every_hundredth_and_the_last_are_verified(monkeypatch):
    monkeypatch.setattr(archive, "ALL_VERIFIED", 50)
    verified = []
    monkeypatch.setattr(verification, "check_png", lambda *_, code: verified.append(int(code[3:])))

    _, result = write_archive(images(420))

    assert verified == [*range(50), 100, 200, 300, 400, 419]
    assert (result.files, result.verified) == (420, 55)
    assert result.checked_share == pytest.approx(55 / 420)


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("number", [0, 7, 149])
def test_wrong_image_stops_the_writing_and_leaves_no_valid_zip(number, processes, monkeypatch):
    real_png = qr.png
    monkeypatch.setattr(
        qr, "png", lambda *, text, **options: real_png(text=text.replace(f"{number:07d}", "9999999"), **options)
    )
    file = io.BytesIO()

    with pytest.raises(verification.Unreadable, match=f"ABC{number:07d}") as rejected:
        archive.write(file, images(150), kind="png", size_mm=SIZE, processes=processes)

    assert rejected.value.details == {"code": f"ABC{number:07d}"}
    assert not zipfile.is_zipfile(io.BytesIO(file.getvalue()))


def test_progress_is_reported_and_can_stop_the_writing():
    images_written = []
    write_archive(images(250), progress=images_written.append)

    assert images_written == [100, 200, 250]
    with pytest.raises(ZeroDivisionError):
        write_archive(images(250), progress=lambda count: 1 // (count - 200))


def test_bytes_are_written_before_the_last_image_is_requested():
    file = io.BytesIO()

    def images_in_two_chunks():
        yield from images(archive.CHUNK)
        assert file.tell() > 0
        yield from images(archive.CHUNK, first=archive.CHUNK)

    archive.write(file, images_in_two_chunks(), kind="png", size_mm=SIZE)


def test_memory_does_not_grow_with_the_images(monkeypatch):
    monkeypatch.setattr(archive, "ALL_VERIFIED", 10)

    class Sink(io.RawIOBase):
        def write(self, data):
            return len(data)

    def peak(quantity):
        image_list = (Image(f"ABC{number:07d}", f"ABC{number:07d}") for number in range(quantity))
        tracemalloc.start()
        archive.write(Sink(), image_list, kind="png", size_mm=SIZE)
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak_bytes

    peak(200)
    assert peak(4000) < peak(400) + 200_000


UNUSUAL_CODES = [
    "ABC0001",
    "abc0001",
    "Abc0001",
    "a/b",
    "a\\b",
    "../../etc/passwd",
    "..",
    ".",
    ".hidden",
    "-rf",
    "CON",
    "con",
    "NUL.001",
    "COM1",
    "LPT9.X",
    "COM10",
    "A:B",
    "A*?B",
    "A<B>|",
    "A B",
    "A ",
    "A.",
    "Ä1",
    "A\u03081",
    "ÄÖ/中",
    "A\0B",
    "A\nB",
    "ABC.TAG",
    "X" * 64,
    "X" * 300,
    "X" * 301,
    "=A1",
    "~A",
    "",
]


def test_file_names_of_codes_are_unique_even_without_case():
    names = [safe_name(code, "png") for code in UNUSUAL_CODES]

    assert len({name.casefold() for name in names}) == len(UNUSUAL_CODES)


@pytest.mark.parametrize("code", UNUSUAL_CODES, ids=ascii)
def test_file_names_are_safe_on_every_system(code):
    name = safe_name(code, "png")

    assert set(name) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.~-png")
    assert name[0] not in ".-~ "
    assert name.endswith(".png")
    assert len(name) <= 128
    devices = {"CON", "PRN", "AUX", "NUL", *(f"{port}{digit}" for port in ("COM", "LPT") for digit in range(10))}
    assert name.split(".")[0].upper() not in devices


@pytest.mark.parametrize("code", ["ABC0001", "ABC-0001_X.8K2MZ0Q9X1T", "0", "COM10"])
def test_file_name_of_an_ordinary_code_is_the_code(code):
    assert safe_name(code, "svg") == f"{code}.svg"


def test_archive_of_unusual_codes_can_be_extracted(tmp_path):
    data, _ = write_archive([Image(code, code or "x") for code in UNUSUAL_CODES if len(code) < 70])

    open_archive(data).extractall(tmp_path)
    rows = manifest_of(open_archive(data))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["manifest.csv", *(row["file"] for row in rows)])


@pytest.mark.parametrize("entries", [65_534, 65_535, 65_536, 70_000])
def test_archive_can_have_more_entries_than_zip32_allows(entries, tmp_path):
    path = tmp_path / "many.zip"
    with path.open("wb") as file, Writer(file) as archive:
        for number in range(entries):
            archive.add(f"{number:05d}.txt", b"%d" % number)

    with zipfile.ZipFile(path) as zip_file:
        assert len(zip_file.namelist()) == entries
        assert zip_file.read("65000.txt") == b"65000"
        assert zip_file.read(f"{entries - 1}.txt") == b"%d" % (entries - 1)
    assert (b"PK\x06\x06" in path.read_bytes()[-200:]) is (entries >= 65_535)
    if shutil.which("unzip"):
        assert subprocess.run(["unzip", "-tqq", path], capture_output=True, check=False).returncode == 0


def test_entries_beyond_four_gigabytes_can_be_read():
    with tempfile.TemporaryFile() as file:
        archive = Writer(file)
        archive.add("near.txt", b"near")
        # A hole in the file stands for the entries between them.
        archive.at = (1 << 32) + 10
        file.seek(archive.at)
        with archive:
            archive.add("far.txt", b"far")

        with zipfile.ZipFile(file) as zip_file:
            assert [zip_file.read(name) for name in ("near.txt", "far.txt")] == [b"near", b"far"]
            assert zip_file.getinfo("far.txt").header_offset == (1 << 32) + 10


def double(number):
    if number < 0:
        raise verification.Unreadable("no", details={"number": number})
    return number * 2


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_results_of_several_processes_are_in_order(processes):
    assert list(map_in_processes(double, range(100), processes=processes)) == list(range(0, 200, 2))
    assert list(map_in_processes(double, [], processes=processes)) == []


def test_error_in_a_process_is_raised():
    with pytest.raises(verification.Unreadable) as rejected:
        list(map_in_processes(double, [1, 2, -3, 4], processes=2))

    assert rejected.value.details == {"number": -3}


def test_only_a_few_tasks_are_taken_in_advance():
    tasks_taken = []

    def tasks():
        for number in range(100):
            tasks_taken.append(number)
            yield number

    results = map_in_processes(double, tasks(), processes=2)
    next(results)

    assert len(tasks_taken) == 5
    results.close()


def test_processes_end_when_their_parent_is_killed():
    read_end, write_end = os.pipe()
    parent = os.fork()
    if parent == 0:
        results = map_in_processes(process_id, iter(range(1000)), processes=2)
        os.write(write_end, f"{next(results)} {next(results)}\n".encode())
        signal.pause()
    workers = [int(pid) for pid in os.read(read_end, 100).split()]
    assert all(map(running, workers)) and len(set(workers)) == 2

    os.kill(parent, signal.SIGKILL)
    os.waitpid(parent, 0)
    for descriptor in (read_end, write_end):
        os.close(descriptor)

    deadline = time.monotonic() + 5
    while any(map(running, workers)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(map(running, workers))


def process_id(_):
    return os.getpid()


def running(pid):
    """Whether a process still runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
