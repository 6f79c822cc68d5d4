"""Sequential codes and whether two ranges share one."""

import pytest

from authcodes.numbering import Numbering, shared


def test_numbers_are_padded_with_zeros():
    run = Numbering("ABC", 42, 6, 3)

    assert (run.first_code, run.code(43), run.last_code) == ("ABC000042", "ABC000043", "ABC000044")


@pytest.mark.parametrize(
    ("start", "width", "quantity", "over"), [(1, 2, 99, False), (1, 2, 100, True), (99, 2, 1, False)]
)
def test_a_range_overflows_when_its_last_number_has_more_digits(start, width, quantity, over):
    assert Numbering("", start, width, quantity).overflows is over


def test_the_number_of_a_code_is_read_back():
    run = Numbering("A-", 1, 4, 10)

    assert [run.number(code) for code in ("A-0007", "A-007", "B-0007", "A-00x7", "A-٠٠٠٧")] == [
        7,
        None,
        None,
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        (Numbering("A", 1, 4, 10), Numbering("A", 8, 4, 10), ("A0008", "A0010")),
        (Numbering("A", 1, 4, 10), Numbering("A", 11, 4, 10), None),
        (Numbering("A", 1, 4, 10), Numbering("B", 1, 4, 10), None),
        (Numbering("A", 1, 4, 10), Numbering("A", 1, 5, 10), None),
        (Numbering("A", 1000, 4, 50), Numbering("A1", 20, 3, 10), ("A1020", "A1029")),
        (Numbering("A1", 20, 3, 10), Numbering("A", 1000, 4, 50), ("A1020", "A1029")),
        (Numbering("A", 0, 4, 9999), Numbering("A-", 1, 3, 10), None),
        (Numbering("", 0, 3, 1000), Numbering("01", 0, 1, 10), ("010", "019")),
    ],
)
def test_shared_codes_are_found_across_prefixes(one, other, both):
    assert shared(one, other) == both


def test_sharing_agrees_with_comparing_every_code():
    runs = [
        Numbering(prefix, start, width, quantity)
        for prefix in ("", "1", "A", "A1", "10")
        for width in (1, 2, 3)
        for start in (0, 5, 10)
        for quantity in (1, 7, 30)
    ]
    runs = [run for run in runs if not run.overflows]
    codes = {run: {run.code(run.start + offset) for offset in range(run.quantity)} for run in runs}

    for one in runs:
        for other in runs:
            assert bool(shared(one, other)) == bool(codes[one] & codes[other])
