"""Home's map of scans: a circle for each place that the geocoder knows, which filters by that place."""

import pytest
from django.urls import reverse

from authcodes.admin.scan_map import viewport
from authcodes.places.positions import position_of
from brands.models.tenants import Brand
from tests.support import factories, portal

pytestmark = pytest.mark.django_db


def test_map_has_a_circle_for_each_known_place_that_links_to_its_scans(brand: Brand) -> None:
    code = factories.code(brand)
    for place in ("Berlin, State of Berlin", "Berlin, State of Berlin", "Hamburg, Hamburg", "Nowhere, At All"):
        portal.scan(code, location=place)
    client = portal.browser(portal.staff(brand))

    page = client.get(reverse("admin:index")).context["home"]

    assert [circle.title for circle in page.map.circles] == ["Berlin: 2", "Hamburg: 1"]
    assert [(row.name, row.scans, row.is_on_map) for row in page.map.rows] == [
        ("Berlin", 2, True),
        ("Hamburg", 1, True),
        ("Nowhere, At All", 1, False),
    ]
    filtered = client.get(reverse("admin:index") + page.map.circles[0].link).context["home"]
    assert (filtered.scans.accepted, filtered.is_narrowed) == (2, True)


@pytest.mark.parametrize(
    ("label", "latitude", "longitude"),
    [("Pune, Maharashtra", 18.5, 73.9), ("Paris, Île-de-France", 48.9, 2.3), ("Springfield, Illinois", 39.8, -89.6)],
)
def test_position_of_a_place_comes_from_the_geocoder(label: str, latitude: float, longitude: float) -> None:
    position = position_of(label)

    assert position is not None
    assert (round(position.latitude, 1), round(position.longitude, 1)) == (latitude, longitude)


@pytest.mark.parametrize(
    "label", ["", ",", "Atlantis", "Berlin, Texas Panhandle", "\n", "Pune\nMaharashtra", "x" * 200]
)
def test_unknown_place_has_no_position(label: str) -> None:
    assert position_of(label) is None


@pytest.mark.parametrize("positions", [[], [(900.0, 300.0)], [(0.0, 0.0), (1800.0, 705.0)], [(5.0, 700.0)]])
def test_viewport_lies_within_the_map_and_contains_every_circle(positions: list[tuple[float, float]]) -> None:
    x, y, width, height = viewport(positions)

    assert x >= 0
    assert y >= 0
    assert x + width <= 1800.01
    assert y + height <= 705.01
    assert all(x <= left <= x + width and y <= upper <= y + height for left, upper in positions)
