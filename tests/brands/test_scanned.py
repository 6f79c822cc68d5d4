"""Reading the code from a scanned text."""

import pytest

from brands.scanned import ParsedCode, read


@pytest.mark.parametrize(
    ("scanned", "code", "tag"),
    [
        ("ABC001", "ABC001", ""),
        ("  ABC001\n", "ABC001", ""),
        ("ABC001.7K3XJ9", "ABC001", "7K3XJ9"),
        ("https://shop.example.com/s/ABC001", "ABC001", ""),
        ("https://shop.example.com/s/ABC001.7K3?utm=x#y", "ABC001", "7K3"),
        ("HTTP://SHOP.EXAMPLE.COM/s/ABC%2D1", "ABC-1", ""),
        ("https://id.example.com/01/04012345678901/21/ABC001", "ABC001", ""),
    ],
)
def test_code_is_read_from_a_scanned_text(scanned, code, tag):
    assert read(scanned) == ParsedCode(code, tag)


@pytest.mark.parametrize(
    "scanned",
    [
        "",
        "   ",
        "x" * 65,
        "x" * 501,
        "a\x00b",
        "a\nb",
        "https://shop.example.com/",
        "https://shop.example.com/x/A",
        ".tag",
    ],
)
def test_text_without_a_code_is_none(scanned):
    assert read(scanned) is None


def test_url_that_cannot_be_parsed_is_none():
    assert read("http://[::1/s/A") is None
