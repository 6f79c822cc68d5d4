"""The moving-in guides: each sample can be imported as its guide describes, with columns that exist."""

import csv
import io
import re
from decimal import Decimal
from pathlib import Path

import pytest
from django.conf import settings

from loyalty.admin.members.resource import MemberResource
from loyalty.models.accounts import UserPoints
from tests.support import factories
from tests.support.imports import confirm, counts, line_errors, preview, problem, ticket_of
from tests.support.portal import staff

pytestmark = pytest.mark.usefixtures("media")

COLUMNS = tuple(MemberResource.fields)
GUIDES = Path(settings.BASE_DIR) / "docs" / "moving-in"
LABEL = "loyalty.userpoints"
SAMPLES = {
    "open-loyalty.md": {"jan.kowalski@example.com": "340", "anna.nowak@example.com": "12.5"},
    "voucherify.md": {"mary.hill@example.com": "2000", "otto.graf@example.com": "0"},
    "smile.md": {"jane@example.com": "52620", "joe@example.com": "15"},
    "spreadsheets.md": {"ada@example.com": "120", "bob@example.com": "12.5"},
}
ROW = re.compile(r"^\| `([^`]+)` \| `([^`]+)` \|", re.M)
SAMPLE = re.compile(r"\]\((samples/[a-z-]+\.csv)\)")


def sample_with_renamed_columns(guide: str) -> str:
    """The guide's sample, with the columns renamed as in the guide's table."""
    text = (GUIDES / guide).read_text()
    [sample] = SAMPLE.findall(text)
    [header, *rows] = list(csv.reader(io.StringIO((GUIDES / sample).read_text())))
    names = dict(ROW.findall(text))
    assert set(header) == set(names), "the table must name every column of the sample"
    output = io.StringIO()
    csv.writer(output).writerows([[names[name] for name in header], *rows])
    return output.getvalue()


def test_every_guide_is_listed_and_tested():
    assert {path.name for path in GUIDES.glob("*.md")} - {"index.md"} == set(SAMPLES)
    listed = (GUIDES / "index.md").read_text()
    assert all(f"\n{name.removesuffix('.md')}\n" in listed for name in SAMPLES)


@pytest.mark.parametrize("guide", SAMPLES)
def test_guide_names_only_existing_columns(guide):
    assert set(dict(ROW.findall((GUIDES / guide).read_text())).values()) <= set(COLUMNS)


@pytest.mark.parametrize("guide", SAMPLES)
def test_sample_is_imported_as_its_guide_describes(db, guide):
    brand = factories.brand(max_points_per_scan=1_000)
    owner = staff(brand)

    page = preview(owner, LABEL, brand, sample_with_renamed_columns(guide))
    assert line_errors(page) == {}
    assert counts(page) == {"New": 2}
    answer = confirm(owner, LABEL, ticket_of(page))
    assert answer.status_code == 302, problem(answer)

    balances = UserPoints.objects.filter(brand=brand).values_list("user__email", "points")
    assert dict(balances) == {address: Decimal(points) for address, points in SAMPLES[guide].items()}
    assert counts(preview(owner, LABEL, brand, sample_with_renamed_columns(guide))) == {"Unchanged": 2}
