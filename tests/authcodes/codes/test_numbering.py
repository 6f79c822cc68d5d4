"""The numbering of sequential codes, and the codes that two ranges share."""

import pytest

from authcodes.codes.numbering import Numbering, shared


def test_numbers_are_padded_with_zeros():
    numbering = Numbering("ABC", 42, 6, 3)

    assert (numbering.first_code, numbering.code(43), numbering.last_code) == ("ABC000042", "ABC000043", "ABC000044")


@pytest.mark.parametrize(
    ("start", "width", "quantity", "overflows"), [(1, 2, 99, False), (1, 2, 100, True), (99, 2, 1, False)]
)
def test_numbering_overflows_if_its_last_number_has_too_many_digits(start, width, quantity, overflows):
    assert Numbering("", start, width, quantity).overflows is overflows


def test_number_is_parsed_from_a_code():
    numbering = Numbering("A-", 1, 4, 10)

    assert [numbering.number(code) for code in ("A-0007", "A-007", "B-0007", "A-00x7", "A-٠٠٠٧")] == [
        7,
        None,
        None,
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("one", "other", "shared_codes"),
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
def test_shared_codes_are_found_across_prefixes(one, other, shared_codes):
    assert shared(one, other) == shared_codes


def test_shared_agrees_with_comparing_every_code():
    numberings = [
        Numbering(prefix, start, width, quantity)
        for prefix in ("", "1", "A", "A1", "10")
        for width in (1, 2, 3)
        for start in (0, 5, 10)
        for quantity in (1, 7, 30)
    ]
    numberings = [numbering for numbering in numberings if not numbering.overflows]
    codes = {
        numbering: {numbering.code(numbering.start + offset) for offset in range(numbering.quantity)}
        for numbering in numberings
    }

    for one in numberings:
        for other in numberings:
            assert bool(shared(one, other)) == bool(codes[one] & codes[other])


@pytest.mark.parametrize(
    ("numbering", "entered", "code"),
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
def test_find_accepts_a_full_code_or_its_number_without_zeros(numbering, entered, code):
    assert numbering.find(entered) == code


def test_runs_splits_codes_at_gaps():
    numbering = Numbering("A-", 1, 4, 20)

    runs = numbering.runs(["A-0001", "A-0002", "A-0003", "A-0007", "A-0009", "A-0010"])

    assert [(run.first_code, run.last_code, run.quantity) for run in runs] == [
        ("A-0001", "A-0003", 3),
        ("A-0007", "A-0007", 1),
        ("A-0009", "A-0010", 2),
    ]
    assert list(numbering.runs([])) == []
