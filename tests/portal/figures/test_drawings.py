"""Where the parts of a chart lie."""

from django.utils import translation

from portal.figures import drawings


def places(chart):
    return [(float(box.x), float(box.y), float(box.width), float(box.height), box.kind) for box in chart.boxes]


def test_parts_stand_on_each_other():
    chart = drawings.bars(["Mon", "Tue"], ["Monday", "Tuesday"], [("good", [3, 0]), ("bad", [1, 2])])

    assert places(chart) == [
        (45, 50, 270, 150, "good"),
        (45, 0, 270, 50, "bad"),
        (405, 100, 270, 100, "bad"),
    ]
    assert chart.top == "4"


def test_what_are_no_parts_stands_side_by_side():
    chart = drawings.bars(["Mon"], ["Monday"], [("begun", [4]), ("won", [1])], are_parts=False)

    assert places(chart) == [(90, 0, 270, 200, "begun"), (360, 150, 270, 50, "won")]
    assert chart.top == "4"


def test_nothing_is_drawn_of_nothing():
    assert drawings.bars(["Mon"], ["Monday"], [("good", [0])], over=[0]).boxes == ()
    assert drawings.bars([], [], [("good", [])]).labels == ()


def test_a_balance_stays_until_it_changes():
    line = drawings.steps([(0, 10), (5, 20), (10, 0)], width=100, height=50)

    assert line == "0.0,25.0 50.0,25.0 50.0,0.0 100.0,0.0 100.0,50.0"
    assert drawings.steps([(7, 0), (7, 0)], width=100, height=50) == "0.0,50.0 0.0,50.0 0.0,50.0"


def test_the_highest_is_written_as_the_page_s_language_does():
    with translation.override("de"):
        chart = drawings.bars(["Mo"], ["Montag"], [("earned", [9097])], over=[9839])

    assert (chart.top, chart.line_top) == ("9.097", "9.839")
