"""Sequential codes and whether two ranges share one."""

import pytest

from authcodes.codes.numbering import Numbering, shared


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


@pytest.mark.parametrize(
    ("run", "typed", "code"),
    [
        (Numbering("A-", 1, 4, 20), "A-0007", "A-0007"),
        (Numbering("A-", 1, 4, 20), "7", "A-0007"),
        (Numbering("A-", 1, 4, 20), "0007", "A-0007"),
        (Numbering("A-", 1, 4, 20), "21", None),
        (Numbering("A-", 1, 4, 20), "0", None),
        (Numbering("A-", 1, 4, 20), "B-0007", None),
        (Numbering("A-", 1, 4, 20), "A-7", None),
        (Numbering("A-", 1, 4, 20), "\u0667", None),
        (Numbering("A-", 1, 4, 20), "", None),
        (Numbering("", 1, 10, 20), "7", "0000000007"),
        (Numbering("05", 1, 3, 20), "05007", "05007"),
        (Numbering("05", 1, 3, 20), "5007", "05007"),
        (Numbering("05", 1, 3, 20), "7", "05007"),
        (Numbering("05", 1, 3, 20), "6007", None),
        (Numbering("A-", 1, 4, 20), "9" * 65, None),
    ],
)
def test_a_code_is_found_in_full_without_zeros_or_by_its_number(run, typed, code):
    assert run.find(typed) == code


def test_codes_fall_into_runs_without_a_gap():
    run = Numbering("A-", 1, 4, 20)

    found = run.runs(["A-0001", "A-0002", "A-0003", "A-0007", "A-0009", "A-0010"])

    assert [(it.first_code, it.last_code, it.quantity) for it in found] == [
        ("A-0001", "A-0003", 3),
        ("A-0007", "A-0007", 1),
        ("A-0009", "A-0010", 2),
    ]
    assert list(run.runs([])) == []
