"""Points without cents of zeros, dates as people write them, places without repetition: on every list and every row."""

import re

import pytest

from authcodes.models.scans import Scan
from loyalty.models.accounts import UserPoints
from tests.support.portal import LABELS, address, brand_with_one_of_each, browser, staff, text

# What machines wrote and staff read letter by letter, and what is not seen.
LITERAL = re.compile(r"<(pre|code|textarea|script|style|title)\b.*?</\1>", re.DOTALL)
TAG = re.compile(r"<[^>]*>")
DAY = re.compile(r"(?<!such as )\b20\d\d-\d\d-\d\d\b")
ZEROS = re.compile(r"\b[\d,]+\.00\b(?! ?(?:EUR|USD|%))")
UNGROUPED = re.compile(r"\b\d{5,}\.?\d* points?\b")
MEASURED = {"authcodes.printer", "loyalty.orderreturn"}  # millimetres, and money
REPEATED = re.compile(r"Berlin, (State of )?Berlin")


def visible_text(page):
    return re.sub(r"\s+", " ", TAG.sub(" ", LITERAL.sub("", text(page))))


@pytest.fixture
def world(db):
    brand, rows = brand_with_one_of_each("northwind")
    UserPoints.objects.filter(brand=brand).update(points=12_345, points_earned=12_345)
    Scan.objects.filter(brand=brand).update(location="Berlin, State of Berlin")
    return brand, rows


def test_every_page_writes_numbers_dates_and_places_the_same_way(world):
    brand, rows = world
    client = browser(staff(brand))
    found = []
    for label in LABELS:
        for where in (address(label), address(label, "change", rows[label].pk)):
            page_text = visible_text(client.get(where, follow=True))
            found += [
                f"{where}: {page_text[max(match.start() - 30, 0) : match.end() + 20]}"
                for pattern in (DAY, UNGROUPED, REPEATED, *([] if label in MEASURED else [ZEROS]))
                for match in pattern.finditer(page_text)
            ]

    assert not found, "\n".join(found)
