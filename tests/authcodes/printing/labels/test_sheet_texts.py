"""Texts and logos on sheets of labels: searchable, shaped, inside their label, and harmless."""

from dataclasses import replace

import pytest
from pypdf import PdfReader

from authcodes.printing.labels import layout
from authcodes.printing.labels.design import Label
from tests.authcodes.printing import print_helpers
from tests.authcodes.printing.labels.conftest import DESIGNS, URL, label_box, labels, logo_image

HOSTILE = [
    "<script>alert(1)</script><img src=x onerror=alert(2)>",
    "(unbalanced ) ( \\ ) Tj ET Q /I1 Do",
    "endstream endobj 1 0 obj << /OpenAction << /S /JavaScript >> >>",
    "\x00\x01\x07\b\t\n\r\x1b\x7f\x85control",
    "W" * 300,
    "many words " * 30,
    "زيت زيتون بكر ممتاز (500 مل)",
    "שמן זית (כתית) 500",
    "\u202eevil\u202c \u2066x\u2069 \u200b\u200d",
    "\ud800 lone surrogate",
    "中文 日本語 ไทย हिन्दी 😀",
    "a" + "\u0301" * 200,
    "{{ 7*7 }} ${7*7} %(x)s {0}",
    "file:///etc/passwd http://127.0.0.1/ https://[::1]/x.png",
    "",
    " ",
]


def test_texts_of_a_label_can_be_searched(pdf):
    labels_to_print = labels(2, title="Olivenöl nativ extra", sku="OIL-500", note="Best before 2027-01-31")

    text = PdfReader(pdf(labels_to_print, DESIGNS["letter-30"])).pages[0].extract_text()

    for line in ("ABC0000000", "ABC0000001", "Olivenöl nativ extra", "OIL-500", "Best before 2027-01-31"):
        assert line in text


@pytest.mark.parametrize("name", DESIGNS)
def test_a_long_code_is_made_smaller_instead_of_cut(name, pdf):
    code = f"{'LONGPREFIX' * 3}{'0' * 22}1234567890.8K2MZ0Q9X1T"

    text_boxes = print_helpers.text_boxes(pdf([Label(URL + code, code)], DESIGNS[name]))

    assert [word for _, _, word in text_boxes] == [code]
    assert_inside_labels(text_boxes, DESIGNS[name])


def assert_inside_labels(text_boxes, design):
    for _, (left, top, right, bottom), _ in text_boxes:
        middle = (top + bottom) / 2
        assert any(
            box[0] - 0.01 <= left and right <= box[2] + 0.01 and box[1] <= middle <= box[3]
            for box in (label_box(design, index) for index in range(design.sheet.per_page))
        )


@pytest.mark.parametrize("name", DESIGNS)
def test_hostile_text_stays_on_its_label_and_is_not_executed(name, pdf):
    design = DESIGNS[name]
    labels_to_print = [
        Label(f"{URL}{number}", f"{number}", title=text, sku=text, note=text) for number, text in enumerate(HOSTILE)
    ]

    path = pdf(labels_to_print, design)

    reader = PdfReader(path)
    assert len(reader.pages) == design.sheet.pages(len(labels_to_print))
    assert {"/OpenAction", "/Names", "/AcroForm"}.isdisjoint(reader.root_object)
    assert all("/Annots" not in page for page in reader.pages)
    assert_inside_labels(print_helpers.text_boxes(path), design)
    images = print_helpers.rasterised(path, dpi=300, last=len(reader.pages))
    for number, label in enumerate(labels_to_print):
        page, index = divmod(number, design.sheet.per_page)
        assert print_helpers.read_codes(images[page], label_box(design, index), dpi=300) == [label.payload]


def test_arabic_is_joined_and_right_aligned(pdf):
    title = "سلام"

    text_boxes = print_helpers.text_boxes(pdf([Label(URL, "1", title=title)], DESIGNS["letter-30"]))

    # From the left an isolated meem, alef joined to lam, an initial seen; poppler may turn it back.
    [(left, _, right, _)] = [
        box for _, box, word in text_boxes if word in {"\ufee1\ufefc\ufeb3", "\ufeb3\ufefc\ufee1", title}
    ]
    assert right == pytest.approx(4.7625 + 66.675 - layout.PAD, abs=0.1)
    assert left > 4.7625 + 40


def test_letters_missing_from_the_fonts_are_marked_on_the_label(pdf):
    printed = [
        word for _, _, word in print_helpers.text_boxes(pdf([Label(URL, "1", title="茶 tea")], DESIGNS["letter-30"]))
    ]

    assert {"\ufffd", "tea"} <= set(printed)


@pytest.mark.parametrize(
    "logo", [logo_image(), logo_image((30, 660)), logo_image((660, 20), mode="RGB")], ids=["wide", "high", "flat"]
)
@pytest.mark.parametrize("name", DESIGNS)
def test_a_logo_stays_on_its_label_and_does_not_cover_the_code(name, logo, pdf):
    design = replace(DESIGNS[name], logo=logo)
    labels_to_print = labels(design.sheet.per_page, title="Olive oil", sku="OIL-500")

    path = pdf(labels_to_print, design)

    [page] = print_helpers.pages(path)
    assert len(page.images) == len(labels_to_print)
    for index, (image, (code, module)) in enumerate(zip(page.images, page.codes, strict=True)):
        left, top, right, bottom = label_box(design, index)
        assert left <= image[0] < image[2] <= right
        assert top <= image[1] < image[3] <= bottom + 0.01
        assert image[0] >= code[2] + 4 * module or image[1] >= code[3] + 4 * module - 0.01
    assert len(PdfReader(path).pages[0].images) == 1


def test_fonts_are_embedded_and_print_scaling_is_off(pdf):
    reader = PdfReader(pdf(labels(1, title="x"), DESIGNS["letter-30"]))

    fonts = [font.get_object() for font in reader.pages[0]["/Resources"]["/Font"].values()]
    assert len(fonts) == 2
    assert all("/FontFile2" in font["/DescendantFonts"][0].get_object()["/FontDescriptor"] for font in fonts)
    assert reader.root_object["/ViewerPreferences"]["/PrintScaling"] == "/None"
