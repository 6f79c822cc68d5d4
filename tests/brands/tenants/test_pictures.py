"""Pictures: drawn again within limits, uploaded in the portal with permission, served to anyone with the id."""

import io
import random
import resource
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from PIL import Image, ImageFile, PngImagePlugin

from brands.models.audit import AuditLogEntry
from brands.models.quotas import BrandQuota
from brands.models.tenants import Picture
from brands.tenants import pictures
from brands.tenants.picture_drawing import webp_size
from core.errors import Invalid, Unavailable
from core.uploads import bounded_program
from tests.support import factories
from tests.support.portal import address, browser, errors, form_of, staff

pytestmark = pytest.mark.django_db


def drawing(size=(900, 300), kind="PNG", mode="RGBA", **options):
    content = io.BytesIO()
    Image.new(mode, size, (200, 30, 60, 128)[: len(mode)]).save(content, kind, **options)
    return content.getvalue()


def noise(size):
    """A picture that compresses worst."""
    content = io.BytesIO()
    Image.frombytes("RGB", size, random.Random(5).randbytes(size[0] * size[1] * 3)).save(content, "PNG")
    return content.getvalue()


def test_logo_is_a_png_with_its_transparency_and_a_small_webp():
    drawn = pictures.logo(drawing())

    large, small = Image.open(io.BytesIO(drawn.content)), Image.open(io.BytesIO(drawn.small))
    assert (large.format, large.size, large.getpixel((5, 5))[3]) == ("PNG", (660, 220), 128)
    assert (small.format, small.size) == ("WEBP", (288, 96))


def test_photograph_is_upright_on_white_and_without_metadata():
    exif = Image.Exif()
    exif[0x0112], exif[0x010F] = 6, "Camera of somebody"

    drawn = pictures.photograph(drawing((400, 200), "JPEG", "RGB", exif=exif))

    large = Image.open(io.BytesIO(drawn.content))
    assert (large.format, large.size, dict(large.getexif())) == ("JPEG", (200, 400), {})
    assert b"Camera of somebody" not in drawn.content + drawn.small


def test_text_in_an_upload_is_removed():
    notes = PngImagePlugin.PngInfo()
    notes.add_text("Comment", "<script>alert(1)</script>")

    drawn = pictures.logo(drawing(pnginfo=notes) + b"<?php trailing ?>")

    assert b"script" not in drawn.content + drawn.small
    assert b"trailing" not in drawn.content


@pytest.mark.parametrize(("draw", "max_bytes"), [(pictures.logo, 6_000), (pictures.photograph, 14_000)])
def test_small_version_has_a_limited_size(draw, max_bytes):
    assert len(draw(noise((900, 700))).small) <= max_bytes


@pytest.mark.parametrize(
    "upload",
    [
        b"",
        b"no picture",
        b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>",
        drawing()[:60],
        drawing(kind="GIF", mode="RGB"),
        drawing(kind="BMP", mode="RGB"),
        b"\x89PNG\r\n\x1a\n" + bytes(200),
        drawing(exif=b"Exif\0\0MM\0*"),
        drawing(kind="WEBP", mode="RGB", exif=b"Exif\0\0MM\0*"),
    ],
)
def test_upload_that_is_not_a_supported_picture_is_rejected(upload):
    with pytest.raises(Invalid, match="picture cannot be read"):
        pictures.logo(upload)


def test_truncated_picture_is_rejected_even_when_weasyprint_is_loaded(monkeypatch):
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)  # as WeasyPrint does when it is loaded

    with pytest.raises(Invalid, match="picture cannot be read"):
        pictures.logo(drawing()[:-40])


def test_too_many_bytes_or_pixels_are_rejected_before_decoding():
    with pytest.raises(Invalid, match="5 MB"):
        pictures.logo(bytes(5_000_001))
    for size in ((12_000_001, 1), (4_000, 3_001), (20_000, 20_000)):
        with pytest.raises(Invalid, match="more than 12 million pixels"):
            pictures.logo(drawing(size, mode="L"))


@pytest.mark.parametrize("options", [{}, {"lossless": True}, {"exif": b"Exif\0\0MM\0*"}])
def test_webp_is_measured_before_it_is_decoded(options):
    assert webp_size(drawing((301, 77), "WEBP", "RGB", **options)) == (301, 77)
    with pytest.raises(Invalid, match="12 million pixels"):
        pictures.logo(drawing((4_000, 3_001), "WEBP", "RGB", **options))


@pytest.mark.parametrize("kind", ["PNG", "WEBP"])
def test_animated_picture_is_rejected(kind):
    content = io.BytesIO()
    frames = [Image.new("RGB", (40, 40), colour) for colour in ("red", "blue", "green")]
    frames[0].save(content, kind, save_all=True, append_images=frames[1:])

    with pytest.raises(Invalid, match="Animated"):
        pictures.logo(content.getvalue())


def test_only_one_picture_is_decoded_at_a_time(monkeypatch):
    monkeypatch.setattr(bounded_program, "TURN_SECONDS", 0.01)

    with pictures.program.turn, pytest.raises(Unavailable, match="Try again in a moment"):
        pictures.logo(drawing())
    assert pictures.logo(drawing()).size == (660, 220)


def progressive(scans):
    """A JPEG of 12 million pixels that repeats its scan of every coefficient; each repetition takes as long."""
    plain = drawing((4_000, 3_000), "JPEG", "L", progressive=True, quality=1)
    scan_starts = [index for index in range(len(plain) - 1) if plain[index : index + 2] == b"\xff\xda"]
    last = plain[scan_starts[-1] : -2]
    return plain[:-2] + last * scans + plain[-2:]


class WaitingTime(Thread):
    """Measures how long other threads of this process wait at most, in seconds."""

    def __init__(self):
        super().__init__(daemon=True)
        self.longest, self.is_stopped = 0.0, False

    def run(self):
        while not self.is_stopped:
            before = time.monotonic()
            time.sleep(0.005)
            self.longest = max(self.longest, time.monotonic() - before)


def memory_now():
    """Return the memory of this process, in megabytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() // 2**20


@pytest.mark.parametrize(
    "upload",
    [drawing((4_000, 3_000), mode="P"), progressive(1_000), drawing((4_000, 3_000), "WEBP", "RGB", quality=1)],
    ids=["png", "progressive", "webp"],
)
def test_picture_takes_neither_memory_nor_time_of_the_web_process(upload):
    pictures.logo(drawing())
    waiting_time, before = WaitingTime(), memory_now()
    peak_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    waiting_time.start()
    started_at, cpu_before = time.monotonic(), time.process_time()
    with suppress(Invalid):  # a picture that takes too long is rejected
        pictures.photograph(upload)
    waiting_time.is_stopped = True
    waiting_time.join()

    assert time.process_time() - cpu_before < 1
    assert time.monotonic() - started_at < pictures.DRAW_SECONDS + 2
    assert memory_now() - before < 20
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak_before) // 1024 < 40
    assert waiting_time.longest < 2  # this machine may be busy; decoding in this process would block it throughout


def test_control_picture_decoded_in_the_same_process_takes_memory():
    program = (
        "import io; from pathlib import Path; from PIL import Image;"
        " from brands.tenants import picture_drawing as drawing;"
        "content = io.BytesIO(); Image.new('P', (4000, 3000)).save(content, 'PNG');"
        "peak = lambda: int(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0]) // 1024;"
        "before = peak(); drawing.logo(content.getvalue()); print(peak() - before)"
    )
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout

    assert 40 < int(output) < 200  # megabytes


def test_decoding_program_limits_its_own_memory():
    """A decoder that exceeds the limit ends its process with an answer."""
    greedy = (
        "import sys; sys.argv[1:] = ['logo']; from brands.tenants import picture_drawing as drawing;"
        " drawing.logo = lambda upload: bytes(2**30);"
    )
    program = f"{greedy} drawing.main('logo', sys.stdin.buffer, sys.stdout.buffer)"
    output = subprocess.run([sys.executable, "-c", program], input=b"", capture_output=True, check=True).stdout

    assert output == b'{"unfit": "memory"}\n'


def uploaded(content):
    return SimpleUploadedFile("logo.png", content, "image/png")


def change(user, brand, **fields):
    form = address("brands.brand", "change", brand.pk)
    return browser(user).post(form, {**form_of(browser(user).get(form)), **fields})


def test_owner_sets_replaces_and_removes_the_logo(brand):
    owner = staff(brand)

    change(owner, brand, picture_file=uploaded(drawing((300, 100))))
    brand.refresh_from_db()
    first = brand.logo
    change(owner, brand, picture_file=uploaded(drawing((100, 100))))
    brand.refresh_from_db()
    second = brand.logo
    change(owner, brand, remove_picture="on")
    brand.refresh_from_db()

    assert ((first.width, first.height), (second.width, second.height), brand.logo) == ((300, 100), (100, 100), None)
    assert not Picture.objects.exists()
    changes = AuditLogEntry.objects.filter(kind="brands.brand").order_by("id").values_list("changes", flat=True)
    assert [entry["logo"] for entry in changes] == [
        [None, "300 x 100"],
        ["300 x 100", "100 x 100"],
        ["100 x 100", None],
    ]


def test_invalid_upload_is_rejected_at_its_field_and_changes_nothing(brand):
    answer = change(staff(brand), brand, picture_file=uploaded(b"<svg/>"))

    assert list(errors(answer)) == ["picture_file"]
    assert not Picture.objects.exists()


def test_unreadable_colours_are_rejected(brand):
    answer = change(staff(brand), brand, colour_text="#cccccc", colour_accent="#ffff00")

    assert sorted(errors(answer)) == ["colour_accent", "colour_text"]


@pytest.mark.parametrize("colour", ["red", "#fff", "#12345g", "#123456;}", "</style>"])
def test_invalid_colour_is_rejected(brand, colour):
    answer = change(staff(brand), brand, colour_accent=colour)

    brand.refresh_from_db()
    assert brand.colour_accent == "#0b57d0"
    assert "colour_accent" in errors(answer)


def test_product_can_have_a_picture(brand):
    owner, product = staff(brand), factories.product(brand)
    form = address("authcodes.product", "change", product.pk)

    browser(owner).post(form, {**form_of(browser(owner).get(form)), "picture_file": uploaded(drawing())})

    product.refresh_from_db()
    assert (product.picture.content_type, product.picture.brand_id) == ("image/jpeg", brand.pk)


def test_role_that_may_only_view_a_brand_has_no_upload_field(brand):
    page = browser(staff(brand, role="support")).get(address("brands.brand", "change", brand.pk))

    assert page.status_code == 200
    assert b"picture_file" not in page.content


def test_pictures_are_public_and_cached_by_browsers(brand):
    picture = pictures.store(brand=brand, encoded=pictures.logo(drawing()))

    large, small = (Client().get(f"/pictures/{picture.pk}/{size}") for size in ("large", "small"))

    assert (large["Content-Type"], large.content) == ("image/png", bytes(picture.content))
    assert (small["Content-Type"], small.content) == ("image/webp", bytes(picture.small))
    assert "immutable" in small["Cache-Control"]
    assert "sessionid" not in small.cookies


def test_missing_picture_is_404(db):
    assert Client().get("/pictures/7b1f5bd6-1f59-4c5c-b6e5-6ee1f2b8f0a1/small").status_code == 404


def test_picture_above_the_storage_quota_is_rejected_but_a_replacement_fits(brand):
    owner = staff(brand)
    change(owner, brand, picture_file=uploaded(drawing((300, 100))))
    first = Picture.objects.get()
    size = len(first.content) + len(first.small)
    BrandQuota.objects.create(brand=brand, resource="storage", limit=size)

    change(owner, brand, picture_file=uploaded(drawing((300, 100))))
    second = Picture.objects.get()
    rejected = change(owner, brand, picture_file=uploaded(drawing((600, 200))))

    assert second != first
    assert Picture.objects.get() == second
    assert f"Your brand can store {size:,} bytes" in errors(rejected)["picture_file"][0]
