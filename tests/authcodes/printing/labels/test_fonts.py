"""Faces: every script in a font that has it, shaped where its letters change with their neighbours."""

import pytest
from PIL import ImageChops
from pypdf import PdfReader

from authcodes.printing.labels import fonts, sheet_pdf, text_layout
from authcodes.printing.labels.design import Design, Label, letter_warnings
from authcodes.printing.labels.fonts import measured, runs, sans
from authcodes.printing.labels.presets import PRESETS
from tests.authcodes.printing import print_helpers
from tests.support.concurrency import at_once

PRESET = PRESETS["letter-30"]
DESIGN = Design(PRESET.sheet, PRESET.qr_mm)
URL = "https://scan.example.com/s/"
SCRIPTS = {
    "Thai": "ชาเขียว",
    "Devanagari": "हरी चाय क्ष",
    "Bengali": "সবুজ চা",
    "Tamil": "பச்சை தேநீர்",
    "Telugu": "గ్రీన్ టీ",
    "Khmer": "តែបៃតង",
    "Lao": "ຊາຂຽວ",
    "Myanmar": "လက်ဖက်စိမ်း",
    "Sinhala": "හරිත තේ",
    "Gujarati": "લીલી ચા",
}


def of(text):
    return [(run.face.name, run.text) for run in runs(text, sans())]


@pytest.mark.parametrize(("script", "text"), SCRIPTS.items())
def test_scripts_whose_letters_change_have_a_face(script, text):
    assert of(text) == [(f"NotoSans{script}", text)]
    assert text_layout.unknown(text) == ""
    assert measured(text, sans()) > 1


def test_letters_stand_in_the_first_face_that_has_them():
    assert of("Olive oil زيت שמן Масло έλαιο Tiếng Việt") == [
        ("DejaVuSans", "Olive oil زيت שמן Масло έλαιο Tiếng Việt")
    ]
    assert of("Tea ชา 500 g") == [("DejaVuSans", "Tea "), ("NotoSansThai", "ชา "), ("DejaVuSans", "500 g")]


def test_what_no_face_has_is_replaced_and_told_of():
    assert of("茶 tea") == [("DejaVuSans", "\ufffd tea")]
    assert text_layout.unknown("茶 tea 日本茶 ชา 🫖") == "茶日本🫖"
    [warning] = letter_warnings("茶日")
    assert "\ufffd instead: 茶 日." in warning
    assert letter_warnings("") == []


def test_fonts_of_the_installation_stand_in_too(settings):
    mono = fonts.FONTS / "NotoSansThai.ttf"
    settings.LABEL_FONTS = [mono]
    fonts.other_fonts.cache_clear()
    fonts._face_of.cache_clear()
    try:
        assert fonts.other_fonts()[-1].path == mono
        assert fonts.other_fonts()[-1].is_pictured
    finally:
        settings.LABEL_FONTS = []
        fonts.other_fonts.cache_clear()
        fonts._face_of.cache_clear()


def test_threads_that_ask_first_get_the_same_faces():
    """Else each keeps some of its letters in a face of its own, and those do not join."""
    fonts._read.clear()
    for cached in (fonts.face, fonts.other_fonts, fonts._face_of):
        cached.cache_clear()

    one, other = at_once(lambda _: fonts.other_fonts(), range(2))

    assert all(first is second for first, second in zip(one, other, strict=True))


def test_letters_that_join_are_drawn_joined():
    """The three letters of a conjunct are one glyph, so they take less room than one after the other."""
    face = fonts.face("NotoSansDevanagari")

    joined = face.width("\u0915\u094d\u0937")

    assert joined < face.width("\u0915") + face.width("\u0937")


def test_a_picture_shows_the_whole_line():
    face = fonts.face("NotoSansKhmer")

    drawn = face.picture("តែបៃតង")

    assert ImageChops.invert(drawn.image.convert("L")).getbbox() == (0, 0, *drawn.image.size)
    assert drawn.width == pytest.approx(face.width("តែបៃតង"), abs=0.3)
    assert drawn.bottom <= 0 < drawn.bottom + drawn.height < 1.5


def test_picture_of_nothing_is_nearly_nothing():
    assert fonts.face("NotoSansThai").picture(" ").image.size == (1, 1)


@pytest.mark.parametrize("title", ["ชาเขียวออร์แกนิก", "हरी चाय (जैविक)", "Tea ชา ชา"])
def test_pictures_of_text_stay_on_their_labels_beside_the_code(title, tmp_path):
    path = tmp_path / "labels.pdf"
    some = [Label(f"{URL}A{number}", f"A{number}", title=title, note=title) for number in range(30)]
    with path.open("wb") as file:
        sheet_pdf.write(file, some, DESIGN)

    [page] = print_helpers.pages(path)
    [seen] = print_helpers.rasterised(path, dpi=300)

    assert len(page.images) >= 60
    for index, label in enumerate(some):
        left, top = map(float, DESIGN.sheet.place(index))
        right, bottom = left + float(DESIGN.sheet.label_width), top + float(DESIGN.sheet.label_height)
        code, module = page.codes[index]
        for image in page.images[index * len(page.images) // 30 : (index + 1) * len(page.images) // 30]:
            assert code[2] + 4 * module <= image[0] < image[2] <= right + 0.2
            assert top <= image[1] < image[3] <= bottom
        assert print_helpers.read(seen, (left, top, right, bottom), dpi=300) == [label.payload]
    assert len(PdfReader(path).pages[0].images) <= 2  # each text once
