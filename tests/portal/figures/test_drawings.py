"""The coordinates of a chart's parts."""

from django.utils import translation

from portal.figures import drawings


def boxes_of(chart):
    return [(float(box.x), float(box.y), float(box.width), float(box.height), box.kind) for box in chart.boxes]


def test_parts_are_stacked():
    chart = drawings.bars(["Mon", "Tue"], ["Monday", "Tuesday"], [("good", [3, 0]), ("bad", [1, 2])])

    assert boxes_of(chart) == [
        (45, 50, 270, 150, "good"),
        (45, 0, 270, 50, "bad"),
        (405, 100, 270, 100, "bad"),
    ]
    assert chart.top == "4"


def test_independent_series_are_drawn_side_by_side():
    chart = drawings.bars(["Mon"], ["Monday"], [("begun", [4]), ("won", [1])], are_parts=False)

    assert boxes_of(chart) == [(90, 0, 270, 200, "begun"), (360, 150, 270, 50, "won")]
    assert chart.top == "4"


def test_chart_without_values_has_no_boxes_or_labels():
    assert drawings.bars(["Mon"], ["Monday"], [("good", [0])], over=[0]).boxes == ()
    assert drawings.bars([], [], [("good", [])]).labels == ()


def test_steps_hold_a_value_until_the_next_change():
    line = drawings.steps([(0, 10), (5, 20), (10, 0)], width=100, height=50)

    assert line == "0.0,25.0 50.0,25.0 50.0,0.0 100.0,0.0 100.0,50.0"
    assert drawings.steps([(7, 0), (7, 0)], width=100, height=50) == "0.0,50.0 0.0,50.0 0.0,50.0"


def test_axis_maximum_is_formatted_in_the_page_language():
    with translation.override("de"):
        chart = drawings.bars(["Mo"], ["Montag"], [("earned", [9097])], over=[9839])

    assert (chart.top, chart.line_top) == ("9.097", "9.839")
