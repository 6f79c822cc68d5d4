"""Labels with a brand's own layout: parts are printed in their boxes, and independent programs can read them."""

import hashlib
import io
import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from PIL import Image
from pypdf import PdfReader

from authcodes.printing.labels import suggested_boxes
from authcodes.printing.labels.custom_layout import placement_of
from authcodes.printing.labels.design import Design, Label
from authcodes.printing.labels.parts import Part, PartName, from_json, problems, to_json
from authcodes.printing.labels.presets import PRESETS
from authcodes.printing.labels.preview import one_label, preview
from authcodes.printing.labels.sheet_pdf import write
from core.errors import Invalid
from tests.authcodes.printing.print_helpers import pages, rasterised, read_codes, text_boxes

PRESET = PRESETS["a4-30"]  # labels of 70 x 29.7 mm
LABEL = Label("https://tea.example.com/s/AB-0001", "AB-0001", "Green tea", "TEA-1", "Expires 1 Jan 2030", "Scan me")


DIGESTS = {
    "letter-30": "96df20ddd2e0aaac",
    "a4-30": "4bf51c9a7fa3a3d4",
    "a4-21": "d7cb591d952f83b9",
    "grid-30": "4d4499a5d72a6ccc",
    "grid-20": "f9977be5753d2b70",
}


def part(left, top, width, height, *, centred=False):
    return Part(*map(Decimal, (left, top, width, height)), centred)


PARTS = {
    "qr": part("44", "1", "24", "24"),
    "code": part("44", "25.5", "24", "3", centred=True),
    "title": part("2", "2", "38", "8"),
    "sku": part("2", "11", "20", "3"),
    "expiry": part("2", "15", "36", "3"),
    "note": part("2", "20", "20", "4"),
    "logo": part("25", "19", "15", "9"),
}


def design_with_parts(**changed_parts):
    return Design(PRESET.sheet, Decimal(24), parts={**PARTS, **changed_parts})


def write_pdf(labels, design, folder: Path) -> Path:
    file = folder / "labels.pdf"
    with file.open("wb") as target:
        write(target, labels, design)
    return file


def logo():
    file = io.BytesIO()
    Image.new("RGBA", (300, 100), (0, 0, 120, 255)).save(file, "PNG")
    return file.getvalue()


def test_parts_are_printed_in_their_boxes_and_the_code_is_read(tmp_path):
    labels = [replace(LABEL, payload=f"https://tea.example.com/s/AB-{number:04d}") for number in range(1, 33)]

    file = write_pdf(labels, replace(design_with_parts(), start=3, logo=logo()), tmp_path)

    first, second = pages(file)
    assert (len(first.codes), len(second.codes)) == (28, 4)
    (box, _module), (left, lower) = first.codes[0], first.positions[0]
    assert (round(left), round(lower - 29.7, 1)) == (140, 0)  # the third label
    quiet = 24 * 4 / (25 + 8) if abs(box[2] - box[0] - 24 * 25 / 33) < 0.1 else 24 * 4 / (29 + 8)
    assert box[0] == pytest.approx(140 + 44 + quiet, abs=0.05)
    assert box[1] == pytest.approx(1 + quiet, abs=0.05)
    [sheet] = rasterised(file, dpi=300)
    qr_area = (140 + 44, 1.0, 140 + 44 + 24, 25.0)
    assert (
        read_codes(sheet, qr_area, dpi=300)
        == read_codes(sheet, qr_area, dpi=300, worn=True)
        == ["https://tea.example.com/s/AB-0001"]
    )
    boxes = {
        word: word_box
        for page, word_box, word in text_boxes(file)
        if page == 0 and word_box[0] > 140 and word_box[1] < 29.7
    }
    for word, name in {"AB-0001": "code", "Green": "title", "TEA-1": "sku", "2030": "expiry", "Scan": "note"}.items():
        part_box = PARTS[name]
        assert boxes[word][0] >= 140 + float(part_box.left) - 0.1, word
        assert boxes[word][2] <= 140 + float(part_box.right) + 0.1, word
        assert float(part_box.top) - 0.8 <= boxes[word][1] <= boxes[word][3] <= float(part_box.bottom) + 0.8, word
    assert first.images[0] == pytest.approx((140 + 25, 19 + 2, 140 + 40, 19 + 7), abs=0.05)


def test_parts_without_a_box_are_not_printed(tmp_path):
    parts = {name: PARTS[name] for name in ("qr", "code")}

    file = write_pdf([LABEL], Design(PRESET.sheet, Decimal(24), parts=parts), tmp_path)

    assert {word for _page, _place, word in text_boxes(file)} == {"AB-0001"}


@pytest.mark.parametrize("text", ["شاي أخضر من الجبل", "Tee " * 60, "Donaudampfschifffahrtsgesellschaft"])
def test_long_and_right_to_left_titles_stay_in_their_box(text):
    box = PARTS["title"]

    lines = [
        line for line in placement_of(design_with_parts()).lines(replace(LABEL, title=text)) if line.top > 29.7 - 11
    ]

    titles = [line for line in lines if line.left < 42 and line.top >= 29.7 - 10.5]
    assert titles
    assert all(line.left >= 2 - 0.01 and line.left + line.width <= float(box.right) + 0.01 for line in titles)
    assert min(line.baseline for line in titles) > 29.7 - float(box.bottom)


def test_long_code_is_made_smaller_instead_of_cut():
    text = "ABCDEFGHIJKLMNOPQRSTUVWXYZ-0000000001.8K2MZ00011T"

    line = placement_of(design_with_parts()).code_line(replace(LABEL, text=text))

    assert (line.text, line.width <= 24.001) == (text, True)


def test_previews_of_label_and_page_match_the_print():
    design = replace(design_with_parts(), logo=logo())

    label_preview, page_preview = one_label(LABEL, design), preview([LABEL], design).decode()

    assert label_preview.count("<text") == page_preview.count(">Green tea<") + 4 == 5
    assert "translate(44.000 1.000)" in label_preview
    assert "translate(44.000 1.000)" in page_preview


@pytest.mark.parametrize(
    ("changed_parts", "field", "message"),
    [
        ({"qr": part("44", "1", "19.9", "19.9")}, "qr_width", "At least 20 mm wide."),
        ({"qr": part("47", "1", "24", "24")}, "qr_left", "This part extends 1.0 mm beyond the label."),
        ({"qr": part("44", "-0.3", "24", "24")}, "qr_top", "This part extends 0.3 mm beyond the label."),
        ({"title": part("30", "2", "38", "8")}, "title_left", "This part covers the QR code"),
        ({"logo": part("40", "19", "6", "6")}, "logo_left", "This part covers the QR code"),
        ({"sku": part("2", "9", "20", "3")}, "sku_left", "This part overlaps another part: Product title."),
        ({"note": part("2", "20", "20", "1")}, "note_height", "At least 1.8 mm high."),
        ({"note": part("2", "20", "3", "4")}, "note_width", "At least 5 mm wide."),
    ],
)
def test_invalid_part_is_rejected_with_its_field(changed_parts, field, message):
    design = design_with_parts(**changed_parts)

    with pytest.raises(Invalid) as rejected:
        design.check()

    assert (rejected.value.details["field"], rejected.value.message[: len(message)]) == (field, message)


def test_all_problems_are_reported_together():
    invalid = {**PARTS, "sku": part("60", "11", "20", "3"), "note": part("44", "2", "20", "4")}

    reported = [(each.part, each.length) for each in problems(invalid, width=Decimal(70), height=Decimal("29.7"))]

    assert reported == [("sku", "left"), ("sku", "left"), ("note", "left")]


def test_parts_may_touch():
    design_with_parts(sku=part("2", "10", "20", "1.8"), code=part("44", "25", "24", "3")).check()


def test_layout_needs_a_qr_code_and_a_text_code():
    missing = problems({"title": PARTS["title"]}, width=Decimal(70), height=Decimal(30))

    assert [each.part for each in missing] == ["qr", "code"]


def test_parts_are_stored_as_json():
    assert from_json(to_json(PARTS)) == PARTS
    assert list(to_json(dict(reversed(PARTS.items())))) == [name.value for name in PartName]


@pytest.mark.parametrize("name", ["letter-30", "a4-30", "a4-21"])
@pytest.mark.parametrize("text", ["AB-0001", "ABC0000000001.8K2MZ00011T"])
def test_parts_of_the_automatic_layout_form_a_valid_custom_layout(name, text):
    design = Design(PRESETS[name].sheet, PRESETS[name].qr_mm, logo=logo())

    arrangement = suggested_boxes.arranged(design, replace(LABEL, text=text), [name.value for name in PartName])

    assert arrangement.placed == {name.value for name in PartName}
    replace(design, parts=arrangement.boxes).check()


def test_part_without_a_box_gets_a_free_one():
    design = design_with_parts()
    parts = {name: PARTS[name] for name in ("qr", "code", "title")}

    arrangement = suggested_boxes.arranged(replace(design, parts=parts), LABEL, ["title", "sku", "note"])

    assert set(arrangement.placed) == {"qr", "code", "title"}
    replace(design, parts=arrangement.of(["qr", "code", "title", "sku", "note"])).check()


def normalised(content):
    """A page's content without the modules of symbols and the numbers of glyphs.

    Modules depend on the mask, which the first text of that length chooses; glyph numbers depend on the file.
    """
    without_modules = re.sub(rb"\d+ \d+ \d+ 1 re\n", b"", content)
    return re.sub(rb"<([0-9a-f]*)>", lambda letters: b"<%d letters>" % (len(letters[1]) // 4), without_modules)


def test_automatic_layouts_have_not_changed():
    """Each page has everything where it was drawn before layouts could be saved."""
    labels = [
        Label(f"https://tea.example.com/s/AB-{number:04d}", f"AB-{number:04d}", "Green tea", "TEA-1", note="Scan me")
        for number in range(1, 41)
    ]
    digests = {}
    for name, preset in PRESETS.items():
        file = io.BytesIO()
        write(file, labels, Design(preset.sheet, preset.qr_mm, start=2, cut_marks=True))
        content = b"".join(page.get_contents().get_data() for page in PdfReader(file).pages)
        digests[name] = hashlib.sha256(normalised(content)).hexdigest()[:16]

    assert digests == DIGESTS
