"""Words and logos on sheets of labels: searched, shaped, on their label, and harmless."""

from dataclasses import replace

import pytest
from pypdf import PdfReader

from authcodes.printing.labels import layout
from authcodes.printing.labels.design import Label
from tests.authcodes.printing import print_helpers
from tests.authcodes.printing.labels.conftest import DESIGNS, URL, label_box, labels, picture

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


def test_text_is_on_the_label_and_can_be_searched(pdf):
    some = labels(2, title="Olivenöl nativ extra", sku="OIL-500", note="Best before 2027-01-31")

    text = PdfReader(pdf(some, DESIGNS["letter-30"])).pages[0].extract_text()

    for line in ("ABC0000000", "ABC0000001", "Olivenöl nativ extra", "OIL-500", "Best before 2027-01-31"):
        assert line in text


@pytest.mark.parametrize("name", DESIGNS)
def test_a_long_code_is_made_smaller_and_never_cut(name, pdf):
    code = f"{'LONGPREFIX' * 3}{'0' * 22}1234567890.8K2MZ0Q9X1T"

    found = print_helpers.words_with_boxes(pdf([Label(URL + code, code)], DESIGNS[name]))

    assert [word for _, _, word in found] == [code]
    inside(found, DESIGNS[name])


def inside(found, design):
    for _, (left, top, right, bottom), _ in found:
        middle = (top + bottom) / 2
        assert any(
            box[0] - 0.01 <= left and right <= box[2] + 0.01 and box[1] <= middle <= box[3]
            for box in (label_box(design, index) for index in range(design.sheet.per_page))
        )


@pytest.mark.parametrize("name", DESIGNS)
def test_hostile_text_stays_on_its_label_and_does_nothing(name, pdf):
    design = DESIGNS[name]
    some = [
        Label(f"{URL}{number}", f"{number}", title=text, sku=text, note=text) for number, text in enumerate(HOSTILE)
    ]

    path = pdf(some, design)

    reader = PdfReader(path)
    assert len(reader.pages) == design.sheet.pages(len(some))
    assert {"/OpenAction", "/Names", "/AcroForm"}.isdisjoint(reader.root_object)
    assert all("/Annots" not in page for page in reader.pages)
    inside(print_helpers.words_with_boxes(path), design)
    images = print_helpers.rasterised(path, dpi=300, last=len(reader.pages))
    for number, label in enumerate(some):
        page, index = divmod(number, design.sheet.per_page)
        assert print_helpers.read(images[page], label_box(design, index), dpi=300) == [label.payload]


def test_arabic_is_joined_and_written_from_the_right(pdf):
    title = "سلام"

    found = print_helpers.words_with_boxes(pdf([Label(URL, "1", title=title)], DESIGNS["letter-30"]))

    # From the left an isolated meem, alef joined to lam, an initial seen; poppler may turn it back.
    [(left, _, right, _)] = [
        box for _, box, word in found if word in {"\ufee1\ufefc\ufeb3", "\ufeb3\ufefc\ufee1", title}
    ]
    assert right == pytest.approx(4.7625 + 66.675 - layout.PAD, abs=0.1)
    assert left > 4.7625 + 40


def test_what_the_font_lacks_is_seen_to_be_missing(pdf):
    printed = [
        word
        for _, _, word in print_helpers.words_with_boxes(pdf([Label(URL, "1", title="茶 tea")], DESIGNS["letter-30"]))
    ]

    assert {"\ufffd", "tea"} <= set(printed)


@pytest.mark.parametrize(
    "logo", [picture(), picture((30, 660)), picture((660, 20), mode="RGB")], ids=["wide", "high", "flat"]
)
@pytest.mark.parametrize("name", DESIGNS)
def test_a_logo_stays_on_its_label_and_off_the_code(name, logo, pdf):
    design = replace(DESIGNS[name], logo=logo)
    some = labels(design.sheet.per_page, title="Olive oil", sku="OIL-500")

    path = pdf(some, design)

    [page] = print_helpers.pages(path)
    assert len(page.images) == len(some)
    for index, (image, (code, module)) in enumerate(zip(page.images, page.codes, strict=True)):
        left, top, right, bottom = label_box(design, index)
        assert left <= image[0] < image[2] <= right
        assert top <= image[1] < image[3] <= bottom + 0.01
        assert image[0] >= code[2] + 4 * module or image[1] >= code[3] + 4 * module - 0.01
    assert len(PdfReader(path).pages[0].images) == 1


def test_fonts_are_embedded_and_the_page_asks_not_to_be_fitted(pdf):
    reader = PdfReader(pdf(labels(1, title="x"), DESIGNS["letter-30"]))

    fonts = [font.get_object() for font in reader.pages[0]["/Resources"]["/Font"].values()]
    assert len(fonts) == 2
    assert all("/FontFile2" in font["/DescendantFonts"][0].get_object()["/FontDescriptor"] for font in fonts)
    assert reader.root_object["/ViewerPreferences"]["/PrintScaling"] == "/None"
