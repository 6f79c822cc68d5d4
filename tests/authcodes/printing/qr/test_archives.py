"""Archives of images: ZIPs that everything opens, every image verified, names that no system trips over."""

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

from authcodes.printing.process_pool import spread
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


def written(some, *, kind="png", **more):
    file = io.BytesIO()
    done = archive.write(file, some, kind=kind, size_mm=SIZE, **more)
    return file.getvalue(), done


def opened(data):
    return zipfile.ZipFile(io.BytesIO(data))


def manifest_of(archive):
    return list(csv.DictReader(io.StringIO(archive.read("manifest.csv").decode())))


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("kind", ["png", "svg"])
def test_an_archive_holds_each_image_and_at_the_end_a_manifest(kind, processes):
    some = images(250)

    data, done = written(some, kind=kind, processes=processes)

    archive = opened(data)
    assert archive.testzip() is None
    names = archive.namelist()
    assert names == [*(f"{image.code}.{kind}" for image in some), "manifest.csv"]
    assert names[:-1] == sorted(names[:-1])
    read = verification.read_png if kind == "png" else verification.read_svg
    rows = manifest_of(archive)
    assert [row["code"] for row in rows] == [image.code for image in some]
    for image, row in zip(some, rows, strict=True):
        content = archive.read(row["file"])
        assert row["payload"] == image.payload == read(content)
        assert row["sha256"] == hashlib.sha256(content).hexdigest()
    assert (done.files, done.verified, done.checked_share) == (250, 250, 1)
    assert done.sha256 == hashlib.sha256(data).hexdigest()
    assert done.manifest_sha256 == hashlib.sha256(archive.read("manifest.csv")).hexdigest()


def test_processes_change_nothing_in_the_file():
    assert written(images(350), processes=1)[0] == written(images(350), processes=3)[0]


def test_size_and_level_are_the_ones_asked_for():
    data, _ = written([replace(image, level=level) for image, level in zip(images(2), (Level.H, Level.L), strict=True)])

    for code, level in (("ABC0000000", Level.H), ("ABC0000001", Level.L)):
        assert opened(data).read(f"{code}.png") == qr.png(text=f"{URL}{code}", size_mm=SIZE, level=level)


def test_an_archive_of_nothing_has_a_manifest_alone():
    data, done = written([])

    assert opened(data).namelist() == ["manifest.csv"]
    assert (done.files, done.verified) == (0, 0)


@pytest.mark.skipif(shutil.which("unzip") is None, reason="unzip is not installed")
@pytest.mark.parametrize("quantity", [3, 300])
def test_unzip_finds_nothing_wrong(quantity, tmp_path):
    path = tmp_path / "codes.zip"
    path.write_bytes(written(images(quantity))[0])

    tested = subprocess.run(["unzip", "-t", path], capture_output=True, text=True, check=False)

    assert tested.returncode == 0
    assert "No errors detected" in tested.stdout


def test_the_manifest_is_safe_for_spreadsheets():
    codes = ["=cmd|' /C calc'!A0", "+1", "@x", 'say "hi", you', "plain"]

    rows = manifest_of(opened(written([Image(code, code) for code in codes])[0]))

    assert [row["code"] for row in rows[:3]] == [f"'{code}" for code in codes[:3]]
    assert [restored(row["code"]) for row in rows] == [restored(row["payload"]) for row in rows] == codes


def test_of_many_the_first_ones_a_share_and_the_last_are_proved(monkeypatch):
    monkeypatch.setattr(archive, "ALL_VERIFIED", 50)
    verified = []
    monkeypatch.setattr(verification, "check_png", lambda *_, code: verified.append(int(code[3:])))

    _, done = written(images(420))

    assert verified == [*range(50), 100, 200, 300, 400, 419]
    assert (done.files, done.verified) == (420, 55)
    assert done.checked_share == pytest.approx(55 / 420)


@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("number", [0, 7, 149])
def test_an_image_that_says_something_else_stops_it_and_nothing_opens_what_is_written(number, processes, monkeypatch):
    right = qr.png
    monkeypatch.setattr(qr, "png", lambda *, text, **more: right(text=text.replace(f"{number:07d}", "9999999"), **more))
    file = io.BytesIO()

    with pytest.raises(verification.Unreadable, match=f"ABC{number:07d}") as refused:
        archive.write(file, images(150), kind="png", size_mm=SIZE, processes=processes)

    assert refused.value.details == {"code": f"ABC{number:07d}"}
    assert not zipfile.is_zipfile(io.BytesIO(file.getvalue()))


def test_progress_is_told_and_may_stop_it():
    images_written = []
    written(images(250), progress=images_written.append)

    assert images_written == [100, 200, 250]
    with pytest.raises(ZeroDivisionError):
        written(images(250), progress=lambda done: 1 // (done - 200))


def test_the_first_bytes_come_before_the_last_image_is_asked_for():
    file = io.BytesIO()

    def slow():
        yield from images(archive.CHUNK)
        assert file.tell() > 0
        yield from images(archive.CHUNK, first=archive.CHUNK)

    archive.write(file, slow(), kind="png", size_mm=SIZE)


def test_memory_does_not_grow_with_the_images(monkeypatch):
    monkeypatch.setattr(archive, "ALL_VERIFIED", 10)

    class Sink(io.RawIOBase):
        def write(self, data):
            return len(data)

    def peak(quantity):
        some = (Image(f"ABC{number:07d}", f"ABC{number:07d}") for number in range(quantity))
        tracemalloc.start()
        archive.write(Sink(), some, kind="png", size_mm=SIZE)
        used = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return used

    peak(200)
    assert peak(4000) < peak(400) + 200_000


ODD_CODES = [
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


def test_every_code_has_a_name_of_its_own_even_where_case_does_not_count():
    names = [safe_name(code, "png") for code in ODD_CODES]

    assert len({name.casefold() for name in names}) == len(ODD_CODES)


@pytest.mark.parametrize("code", ODD_CODES, ids=ascii)
def test_a_name_is_safe_on_every_system(code):
    name = safe_name(code, "png")

    assert set(name) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.~-png")
    assert name[0] not in ".-~ "
    assert name.endswith(".png")
    assert len(name) <= 128
    devices = {"CON", "PRN", "AUX", "NUL", *(f"{port}{digit}" for port in ("COM", "LPT") for digit in range(10))}
    assert name.split(".")[0].upper() not in devices


@pytest.mark.parametrize("code", ["ABC0001", "ABC-0001_X.8K2MZ0Q9X1T", "0", "COM10"])
def test_an_ordinary_code_is_its_own_name(code):
    assert safe_name(code, "svg") == f"{code}.svg"


def test_odd_codes_fill_an_archive(tmp_path):
    data, _ = written([Image(code, code or "x") for code in ODD_CODES if len(code) < 70])

    opened(data).extractall(tmp_path)
    rows = manifest_of(opened(data))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["manifest.csv", *(row["file"] for row in rows)])


@pytest.mark.parametrize("entries", [65_534, 65_535, 65_536, 70_000])
def test_more_entries_than_old_zips_count(entries, tmp_path):
    path = tmp_path / "many.zip"
    with path.open("wb") as file, Writer(file) as archive:
        for number in range(entries):
            archive.add(f"{number:05d}.txt", b"%d" % number)

    with zipfile.ZipFile(path) as found:
        assert len(found.namelist()) == entries
        assert found.read("65000.txt") == b"65000"
        assert found.read(f"{entries - 1}.txt") == b"%d" % (entries - 1)
    assert (b"PK\x06\x06" in path.read_bytes()[-200:]) is (entries >= 65_535)
    if shutil.which("unzip"):
        assert subprocess.run(["unzip", "-tqq", path], capture_output=True, check=False).returncode == 0


def test_entries_beyond_four_gigabytes_are_found():
    with tempfile.TemporaryFile() as file:
        archive = Writer(file)
        archive.add("near.txt", b"near")
        # A hole in the file stands for the entries between them.
        archive.at = (1 << 32) + 10
        file.seek(archive.at)
        with archive:
            archive.add("far.txt", b"far")

        with zipfile.ZipFile(file) as found:
            assert [found.read(name) for name in ("near.txt", "far.txt")] == [b"near", b"far"]
            assert found.getinfo("far.txt").header_offset == (1 << 32) + 10


def doubled(number):
    if number < 0:
        raise verification.Unreadable("no", details={"number": number})
    return number * 2


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_work_spread_over_processes_comes_back_in_order(processes):
    assert list(spread(doubled, range(100), processes=processes)) == list(range(0, 200, 2))
    assert list(spread(doubled, [], processes=processes)) == []


def test_what_goes_wrong_in_a_process_is_raised():
    with pytest.raises(verification.Unreadable) as refused:
        list(spread(doubled, [1, 2, -3, 4], processes=2))

    assert refused.value.details == {"number": -3}


def test_tasks_are_taken_only_a_few_ahead():
    taken = []

    def tasks():
        for number in range(100):
            taken.append(number)
            yield number

    results = spread(doubled, tasks(), processes=2)
    next(results)

    assert len(taken) == 5
    results.close()


def test_processes_end_when_their_parent_is_killed():
    read_end, write_end = os.pipe()
    parent = os.fork()
    if parent == 0:
        results = spread(whose, iter(range(1000)), processes=2)
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


def whose(_):
    return os.getpid()


def running(pid):
    """Whether a process still runs; one that ended and that nobody has waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False
