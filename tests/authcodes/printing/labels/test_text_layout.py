"""Text of any script: cleaned, joined, put in visual order and fitted into a width."""

import pytest

from authcodes.printing.labels.text_layout import clean, cut, in_order_of_sight, right_to_left, shaped, wrapped


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  two \t words\r\n", "two words"),
        ("a\0b\x1bc\u2028d", "a b c d"),
        ("\u202eevil\u202c\u200b", "evil"),
        ("A\u0308", "Ä"),
        ("\ud800x", "x"),
        ("x" * 600, "x" * 500),
        ("<b>&amp;", "<b>&amp;"),
    ],
)
def test_text_is_cleaned_and_put_on_one_line(text, expected):
    assert clean(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("\u0628", "\ufe8f"),
        ("\u0628\u0628\u0628", "\ufe91\ufe92\ufe90"),
        ("\u0627\u0628", "\ufe8d\ufe8f"),
        ("\u0628 \u0628", "\ufe8f \ufe8f"),
        ("\u0628\u064e\u0628", "\ufe91\u064e\ufe90"),
        ("\u0644\u0627", "\ufefb"),
        ("\u0633\u0644\u0627\u0645", "\ufeb3\ufefc\ufee1"),
        ("\u067e\u06cc\u06af", "\ufb58\ufbff\ufb93"),
        ("\u0628\u0640", "\ufe91\u0640"),
        ("\u05e9\u05de\u05df", "\u05e9\u05de\u05df"),
    ],
)
def test_arabic_letters_are_joined_with_their_neighbours(text, expected):
    assert shaped(text) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("abc", "abc"),
        ("אבג", "גבא"),
        ("אב (1) 500", "500 (1) בא"),
        ("אב abc גד", "דג abc בא"),
        ("א\u05b8ב", "בא\u05b8"),
    ],
)
def test_lines_are_put_in_visual_order(line, expected):
    assert in_order_of_sight(line, right_to_left=right_to_left(line)) == expected


def test_hebrew_in_an_english_line_keeps_its_position():
    assert in_order_of_sight("oil שמן 500", right_to_left=False) == "oil 500 ןמש"
    assert in_order_of_sight("oil שמן pure", right_to_left=False) == "oil ןמש pure"


@pytest.mark.parametrize(
    ("text", "is_rtl"), [("abc", False), ("1 א", True), ("a א", False), ("سلام", True), ("", False)]
)
def test_the_first_strong_letter_gives_the_direction(text, is_rtl):
    assert right_to_left(text) is is_rtl


@pytest.mark.parametrize(
    ("text", "width", "max_lines", "expected"),
    [
        ("one two three", 20, 3, ["one two three"]),
        ("one two three", 7, 3, ["one two", "three"]),
        ("one two three", 8, 2, ["one two", "three"]),
        ("one two three", 5, 2, ["one", "two…"]),
        ("abcdefghij", 4, 2, ["abcd", "efg…"]),
        ("abcdefghij k", 4, 5, ["abcd", "efgh", "ij k"]),
        ("one two", 3, 0, []),
        ("", 10, 3, []),
    ],
)
def test_lines_break_at_spaces_and_the_last_is_cut(text, width, max_lines, expected):
    assert wrapped(text, width=width, most_lines=max_lines, measure=len) == expected


@pytest.mark.parametrize(("width", "expected"), [(5, "abcde"), (4, "abc…"), (2, "a…"), (1, ""), (0, ""), (-3, "")])
def test_text_that_does_not_fit_is_cut(width, expected):
    assert cut("abcde", width=width, measure=len) == expected


def test_joiner_characters_control_which_letters_join():
    assert shaped("\u0628\u200c\u0628") == "\ufe8f\u200c\ufe8f"
    assert shaped("\u0628\u200d") == "\ufe91\u200d"
    assert clean("می\u200cخواهم") == "می\u200cخواهم"


def test_letters_retain_their_marks_when_text_is_cut():
    assert cut("a\u0323\u0302bcd", width=4, measure=len) == "a\u0323\u0302…"
    assert cut("a\u0323\u0302bcd", width=3, measure=len) == ""
