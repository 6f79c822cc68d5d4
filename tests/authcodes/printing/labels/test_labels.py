"""Sheets of labels: the geometry of sheets that are sold, and geometry that cannot be printed."""

from dataclasses import replace
from decimal import Decimal

import pytest

from authcodes.printing.labels import design
from authcodes.printing.labels.presets import A4, DEFAULT_PRESET, LETTER, PRESETS, Sheet
from core.errors import Invalid

SHEET = PRESETS["a4-21"].sheet
INCH = Decimal("25.4")


def test_the_default_has_thirty_labels_a_page():
    assert PRESETS[DEFAULT_PRESET].sheet.per_page == 30


@pytest.mark.parametrize(
    ("name", "page", "per_page", "first", "last", "label"),
    [
        # Avery 5160: 3/16 in and 1/2 in margins, labels of 2 5/8 by 1 in, 2 3/4 in apart.
        ("letter-30", LETTER, 30, ("4.7625", "12.7"), ("144.4625", "241.3"), ("66.675", "25.4")),
        ("a4-21", A4, 21, ("7.21", "15.15"), ("139.29", "243.75"), ("63.5", "38.1")),
        ("grid-30", LETTER, 30, ("10.2", "10.7"), ("166.6", "225.7"), ("39.1", "43")),
        ("grid-20", LETTER, 20, ("4.35", "2.2"), ("159.75", "222.2"), ("51.8", "55")),
    ],
)
def test_presets_match_the_sheets_that_are_sold(name, page, per_page, first, last, label):
    sheet = PRESETS[name].sheet

    places = list(sheet.places())
    assert (sheet.page_width, sheet.page_height) == page
    assert (sheet.per_page, len(places)) == (per_page, per_page)
    assert places[0] == tuple(map(Decimal, first))
    assert places[-1] == tuple(map(Decimal, last))
    assert (sheet.label_width, sheet.label_height) == tuple(map(Decimal, label))


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_a_preset_can_be_printed_with_its_code_size(preset):
    design.Design(sheet=preset.sheet, qr_mm=preset.qr_mm).check()


def test_grid_presets_have_qr_codes_of_one_and_a_half_and_two_inches():
    assert (PRESETS["grid-30"].qr_mm, PRESETS["grid-20"].qr_mm) == (INCH * 3 / 2, INCH * 2)


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
def test_labels_of_a_preset_do_not_overlap_or_leave_the_page(preset):
    sheet = preset.sheet
    boxes = [(x, y, x + sheet.label_width, y + sheet.label_height) for x, y in sheet.places()]

    assert all(x >= 0 and y >= 0 for x, y, _, _ in boxes)
    assert all(x <= sheet.page_width and y <= sheet.page_height for _, _, x, y in boxes)
    for number, box in enumerate(boxes):
        for other_box in boxes[:number]:
            assert box[0] >= other_box[2] or other_box[0] >= box[2] or box[1] >= other_box[3] or other_box[1] >= box[3]


def test_labels_run_by_row_or_by_column():
    rows = [SHEET.place(index) for index in range(4)]
    columns = [SHEET.place(index, by_column=True) for index in range(8)]

    assert [y for _, y in rows] == [SHEET.top] * 3 + [SHEET.top + SHEET.pitch_y]
    assert [x for x, _ in columns] == [SHEET.left] * 7 + [SHEET.left + SHEET.pitch_x]
    assert sorted(SHEET.places()) == sorted(SHEET.place(index, by_column=True) for index in range(21))


@pytest.mark.parametrize(
    ("quantity", "start", "pages"), [(1, 1, 1), (21, 1, 1), (22, 1, 2), (1, 21, 1), (2, 21, 2), (21, 2, 2), (0, 1, 0)]
)
def test_page_count_includes_the_used_labels_of_the_first_page(quantity, start, pages):
    assert SHEET.pages(quantity, start=start) == pages


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"page_width": Decimal(-1)}, "page_width"),
        ({"page_height": Decimal(2001)}, "page_height"),
        ({"left": Decimal("-0.1")}, "left"),
        ({"top": Decimal(-5)}, "top"),
        ({"label_width": Decimal("19.9")}, "label_width"),
        ({"label_height": Decimal(0)}, "label_height"),
        ({"columns": 0}, "rows"),
        ({"rows": 0}, "rows"),
        ({"columns": 40, "rows": 40}, "rows"),
        ({"pitch_x": Decimal("63.4")}, "pitch_x"),
        ({"pitch_y": Decimal(38)}, "pitch_y"),
        ({"left": Decimal(15)}, "columns"),
        ({"columns": 4}, "columns"),
        ({"top": Decimal("30.31")}, "rows"),
        ({"rows": 8}, "rows"),
        ({"page_width": Decimal(202)}, "columns"),
        ({"page_height": Decimal(281)}, "rows"),
    ],
)
def test_impossible_geometry_is_rejected_with_its_field(change, field):
    with pytest.raises(Invalid) as rejected:
        replace(SHEET, **change).check()

    assert rejected.value.details == {"field": field}


@pytest.mark.parametrize("name", ["page_width", "left", "label_height", "pitch_x"])
@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_lengths_that_are_not_finite_are_rejected(name, value):
    with pytest.raises(Invalid):
        replace(SHEET, **{name: Decimal(value)}).check()


def test_labels_may_fill_the_page_to_its_edges():
    Sheet(*map(Decimal, (100, 60, 0, 0, 50, 30, 50, 30)), columns=2, rows=2).check()


def test_one_label_a_page_needs_no_pitch():
    Sheet(*map(Decimal, (100, 60, 5, 5, 90, 50, 0, 0)), columns=1, rows=1).check()


def test_error_says_how_far_labels_extend_beyond_the_page():
    with pytest.raises(Invalid, match=r"4\.08 mm beyond the page's right edge"):
        replace(SHEET, left=Decimal("18.5")).check()
