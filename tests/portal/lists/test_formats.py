"""Formats on every list and every row's page: points without ".00", readable dates, locations without repetition."""

import re

import pytest

from authcodes.models.scans import Scan
from loyalty.models.accounts import UserPoints
from tests.support.portal import LABELS, address, brand_with_one_of_each, browser, staff, text

# Machine-written text that staff read literally, and invisible text.
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
def brand_and_rows(db):
    brand, rows = brand_with_one_of_each("northwind")
    UserPoints.objects.filter(brand=brand).update(points=12_345, points_earned=12_345)
    Scan.objects.filter(brand=brand).update(location="Berlin, State of Berlin")
    return brand, rows


def test_every_page_formats_numbers_dates_and_locations_consistently(brand_and_rows):
    brand, rows = brand_and_rows
    client = browser(staff(brand))
    violations = []
    for label in LABELS:
        for url in (address(label), address(label, "change", rows[label].pk)):
            page_text = visible_text(client.get(url, follow=True))
            violations += [
                f"{url}: {page_text[max(match.start() - 30, 0) : match.end() + 20]}"
                for pattern in (DAY, UNGROUPED, REPEATED, *([] if label in MEASURED else [ZEROS]))
                for match in pattern.finditer(page_text)
            ]

    assert not violations, "\n".join(violations)
