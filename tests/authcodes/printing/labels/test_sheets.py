"""Sheets of labels as PDF: every label has its position, and every code can be read from the page."""

import io
import tracemalloc
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise

import pytest

from authcodes.printing.labels import sheet_pdf
from authcodes.printing.labels.design import Label, module_warnings
from authcodes.printing.labels.presets import PRESETS
from authcodes.printing.qr.encoder import Level, symbol
from authcodes.printing.qr.images import modules_across
from core.errors import Invalid
from tests.authcodes.printing import print_helpers
from tests.authcodes.printing.labels.conftest import DESIGNS, URL, label_box, labels, logo_image, lower_left_of


@pytest.mark.parametrize("name", DESIGNS)
def test_pages_and_labels_have_exact_sizes_and_positions(name, pdf):
    design = DESIGNS[name]
    sheet = design.sheet

    drawn_pages = print_helpers.pages(pdf(labels(sheet.per_page + 1), design))

    assert [len(page.positions) for page in drawn_pages] == [sheet.per_page, 1]
    for page in drawn_pages:
        assert (page.width, page.height) == pytest.approx((float(sheet.page_width), float(sheet.page_height)), abs=0.01)
        for index, position in enumerate(page.positions):
            assert position == pytest.approx(lower_left_of(design, index), abs=0.01)


@pytest.mark.parametrize("name", DESIGNS)
def test_codes_have_the_requested_size_and_fit_with_their_quiet_zone(name, pdf):
    design = DESIGNS[name]
    modules = modules_across(symbol(f"{URL}ABC0000000"))

    page = print_helpers.pages(pdf(labels(design.sheet.per_page), design))[0]

    for index, (box, module) in enumerate(page.codes):
        assert module * modules == pytest.approx(float(design.qr_mm), abs=0.01)
        assert box[2] - box[0] == pytest.approx(box[3] - box[1], abs=0.01)
        assert box[2] - box[0] == pytest.approx(module * (modules - 8), abs=0.01)
        left, top, right, bottom = label_box(design, index)
        quiet = 4 * module - 0.01
        assert left <= box[0] - quiet
        assert right >= box[2] + quiet
        assert top <= box[1] - quiet
        assert bottom >= box[3] + quiet + 2


@pytest.mark.parametrize(("dpi", "worn"), [(300, False), (200, True)])
@pytest.mark.parametrize("name", DESIGNS)
def test_every_code_of_a_page_can_be_read(name, dpi, worn, pdf):
    design = replace(DESIGNS[name], cut_marks=True)
    labels_to_print = labels(
        design.sheet.per_page, title="Olive oil, extra virgin", sku="OIL-500", note="Best before 2027-01-31"
    )

    [page] = print_helpers.rasterised(pdf(labels_to_print, design), dpi=dpi)

    codes = [
        print_helpers.read_codes(page, label_box(design, index), dpi=dpi, worn=worn)
        for index in range(len(labels_to_print))
    ]
    assert codes == [[label.payload] for label in labels_to_print]


@pytest.mark.parametrize("level", Level)
def test_codes_of_every_level_can_be_read(level, pdf):
    design = DESIGNS["letter-30"]
    labels_to_print = [Label(f"{URL}ABC{number:010d}.8K2MZ0Q9X1T", f"ABC{number}", level=level) for number in range(30)]

    [page] = print_helpers.rasterised(pdf(labels_to_print, design), dpi=300)

    assert [print_helpers.read_codes(page, label_box(design, index), dpi=300) for index in range(30)] == [
        [it.payload] for it in labels_to_print
    ]


def test_first_sheet_begins_at_the_requested_label(pdf):
    design = replace(DESIGNS["letter-30"], start=29)

    drawn_pages = print_helpers.pages(pdf(labels(4), design))

    assert [len(page.positions) for page in drawn_pages] == [2, 2]
    assert drawn_pages[0].positions[0] == pytest.approx(lower_left_of(design, 28), abs=0.01)
    assert drawn_pages[1].positions[0] == pytest.approx(lower_left_of(design, 0), abs=0.01)


def test_labels_can_run_down_the_columns(pdf):
    design = replace(DESIGNS["letter-30"], by_column=True, start=3)

    [page] = print_helpers.pages(pdf(labels(28), design))

    assert page.positions[7][1] == pytest.approx(12.7 + 10 * 25.4, abs=0.01)
    assert page.positions[8] == pytest.approx((4.7625 + 69.85, 12.7 + 25.4), abs=0.01)


@pytest.mark.parametrize(("x", "y"), [("1.5", "-2.3"), ("-20", "20")])
def test_offsets_move_everything_to_the_right_and_down(x, y, pdf):
    design = replace(DESIGNS["a4-21"], offset_x=Decimal(x), offset_y=Decimal(y))

    [page] = print_helpers.pages(pdf(labels(21), design))

    for index, position in enumerate(page.positions):
        left, bottom = lower_left_of(design, index)
        assert position == pytest.approx((left + float(x), bottom + float(y)), abs=0.01)


@pytest.mark.parametrize("scale", ["0.9", "1.003", "1.1"])
def test_scale_applies_from_the_top_left_corner(scale, pdf):
    design = replace(DESIGNS["a4-21"], scale=Decimal(scale), offset_x=Decimal(1))

    [page] = print_helpers.pages(pdf(labels(21), design))

    for index, position in enumerate(page.positions):
        left, bottom = lower_left_of(design, index)
        assert position == pytest.approx((left * float(scale) + 1, bottom * float(scale)), abs=0.02)


def test_cut_marks_are_in_the_margins_in_line_with_the_labels(pdf):
    design = replace(DESIGNS["letter-30"], cut_marks=True)
    boxes = [label_box(design, index) for index in range(30)]

    [page] = print_helpers.pages(pdf(labels(1), design))

    vertical = {round(x, 1) for x, _, to_x, _ in page.lines if abs(x - to_x) < 0.001}
    horizontal = {round(y, 1) for _, y, _, to_y in page.lines if abs(y - to_y) < 0.001}
    assert vertical == {round(box[side], 1) for box in boxes for side in (0, 2)}
    assert horizontal == {round(box[side], 1) for box in boxes for side in (1, 3)}
    for line in page.lines:
        assert all(line[2] <= box[0] or line[0] >= box[2] or line[3] <= box[1] or line[1] >= box[3] for box in boxes)


def test_the_same_labels_give_the_same_file():
    first_file, second_file = io.BytesIO(), io.BytesIO()
    for file in (first_file, second_file):
        sheet_pdf.write(file, labels(40, title="سلام"), replace(DESIGNS["letter-30"], logo=logo_image()))

    assert first_file.getvalue() == second_file.getvalue()


def test_progress_is_reported_by_page_and_can_stop_the_writing():
    labels_written = []
    sheet_pdf.write(io.BytesIO(), iter(labels(65)), DESIGNS["letter-30"], progress=labels_written.append)

    assert labels_written == [30, 60, 65]
    with pytest.raises(ZeroDivisionError):
        sheet_pdf.write(io.BytesIO(), labels(65), DESIGNS["letter-30"], progress=lambda done: 1 // (done - 60))


def test_memory_does_not_grow_with_the_pages():
    class Sink(io.RawIOBase):
        def write(self, data):
            return len(data)

    def peak(pages):
        labels_to_print = (
            Label(f"{URL}ABC{number:07d}", f"ABC{number:07d}", title="Oil") for number in range(30 * pages)
        )
        tracemalloc.start()
        assert sheet_pdf.write(Sink(), labels_to_print, DESIGNS["letter-30"]) == pages
        peak_bytes = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak_bytes

    def min_peak(pages):
        """The lowest of three peaks, because memory still used by earlier documents varies."""
        return min(peak(pages) for _ in range(3))

    assert min_peak(60) < min_peak(6) + 200_000


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"qr_mm": Decimal("19.99")}, "qr_mm"),
        ({"qr_mm": Decimal(-30)}, "qr_mm"),
        ({"qr_mm": Decimal("23.2")}, "qr_mm"),
        ({"qr_mm": Decimal(70)}, "qr_mm"),
        ({"qr_mm": Decimal("NaN")}, "qr_mm"),
        ({"start": 0}, "start"),
        ({"start": 31}, "start"),
        ({"scale": Decimal("0.899")}, "scale"),
        ({"scale": Decimal("1.101")}, "scale"),
        ({"scale": Decimal("Infinity")}, "scale"),
        ({"offset_x": Decimal("20.1")}, "offset_x"),
        ({"offset_x": Decimal("-20.1")}, "offset_x"),
        ({"offset_y": Decimal(21)}, "offset_y"),
        ({"offset_y": Decimal("sNaN")}, "offset_y"),
        ({"sheet": replace(PRESETS["letter-30"].sheet, columns=4)}, "columns"),
    ],
)
def test_unprintable_design_is_rejected_with_its_field(change, field):
    design = replace(DESIGNS["letter-30"], **change)
    file = io.BytesIO()

    with pytest.raises(Invalid) as rejected:
        sheet_pdf.write(file, labels(1), design)

    assert rejected.value.details == {"field": field}
    assert file.getvalue() == b""


def test_a_sheet_without_labels_is_rejected():
    with pytest.raises(Invalid):
        sheet_pdf.write(io.BytesIO(), [], DESIGNS["letter-30"])


@pytest.mark.parametrize("name", DESIGNS)
def test_the_calibration_page_has_a_cross_on_each_corner_and_rulers_of_100_mm(name, tmp_path):
    design = replace(DESIGNS[name], offset_x=Decimal("1.2"))
    path = tmp_path / "calibration.pdf"
    path.write_bytes(sheet_pdf.calibration(design))

    [page] = print_helpers.pages(path)

    horizontal = {
        (round((x + to_x) / 2, 2), round(y, 2)) for x, y, to_x, to_y in page.lines if is_cross(x, to_x, y, to_y)
    }
    vertical = {
        (round(x, 2), round((y + to_y) / 2, 2)) for x, y, to_x, to_y in page.lines if is_cross(y, to_y, x, to_x)
    }
    for index in range(design.sheet.per_page):
        left, top, right, bottom = label_box(design, index)
        for corner in ((left + 1.2, top), (right + 1.2, top), (left + 1.2, bottom), (right + 1.2, bottom)):
            assert any(near(corner, it) for it in horizontal)
            assert any(near(corner, it) for it in vertical)
    rulers = sorted(max(abs(to_x - x), abs(to_y - y)) for x, y, to_x, to_y in page.lines)[-2:]
    expected = [80, 100] if name == "custom" else [100, 100]
    assert rulers == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("name", DESIGNS)
def test_texts_of_the_calibration_page_do_not_touch_its_rulers(name, tmp_path):
    path = tmp_path / "calibration.pdf"
    path.write_bytes(sheet_pdf.calibration(DESIGNS[name]))

    [page] = print_helpers.pages(path)

    rulers = [line for line in page.lines if max(abs(line[2] - line[0]), abs(line[3] - line[1])) > 50]
    text_areas = [box for _, box, word in print_helpers.text_boxes(path) if not word.isdigit()]
    assert (len(rulers), len(text_areas) > 20) == (2, True)
    for left, top, right, bottom in text_areas:
        assert 0 < left < right < page.width
        for x, y, to_x, to_y in rulers:
            assert right < min(x, to_x) or left > max(x, to_x) or bottom < min(y, to_y) or top > max(y, to_y)


def is_cross(begin, end, side, other_side):
    return abs(abs(end - begin) - 1) < 0.01 and abs(side - other_side) < 0.001


def near(first, second):
    return abs(first[0] - second[0]) < 0.05 and abs(first[1] - second[1]) < 0.05


def test_rulers_have_a_tick_each_millimetre(tmp_path):
    path = tmp_path / "calibration.pdf"
    path.write_bytes(sheet_pdf.calibration(DESIGNS["a4-21"]))

    [page] = print_helpers.pages(path)

    ticks = sorted(x for x, y, to_x, to_y in page.lines if abs(x - to_x) < 0.001 and 1.9 < abs(y - to_y) < 4.1)
    assert len(ticks) == 101
    assert [later - earlier for earlier, later in pairwise(ticks)] == pytest.approx([1] * 100, abs=0.01)


def test_small_modules_give_a_warning():
    design = DESIGNS["letter-30"]

    assert module_warnings(design, Label(f"{URL}ABC0000001", "")) == []
    payload = f"https://{'a' * 60}.example.com/s/ABC0000001.8K2MZ0Q9X1T"
    [warning] = module_warnings(design, Label(payload, "", level=Level.H))
    assert "0.396" in warning
