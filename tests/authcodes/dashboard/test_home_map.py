"""Home's map of scans: circles where the geocoder has places, and a press that narrows to one."""

import pytest
from django.urls import reverse

from authcodes.admin.home.scan_map import window
from authcodes.places.positions import position_of
from brands.models.tenants import Brand
from tests.support import factories, portal

pytestmark = pytest.mark.django_db


def test_the_map_has_a_circle_for_each_place_and_a_press_narrows_to_it(brand: Brand) -> None:
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
    narrowed = client.get(reverse("admin:index") + page.map.circles[0].link).context["home"]
    assert (narrowed.scans.accepted, narrowed.is_narrowed) == (2, True)


@pytest.mark.parametrize(
    ("label", "latitude", "longitude"),
    [("Pune, Maharashtra", 18.5, 73.9), ("Paris, Île-de-France", 48.9, 2.3), ("Springfield, Illinois", 39.8, -89.6)],
)
def test_a_place_is_where_the_geocoder_has_it(label: str, latitude: float, longitude: float) -> None:
    position = position_of(label)

    assert position is not None
    assert (round(position.latitude, 1), round(position.longitude, 1)) == (latitude, longitude)


@pytest.mark.parametrize(
    "label", ["", ",", "Atlantis", "Berlin, Texas Panhandle", "\n", "Pune\nMaharashtra", "x" * 200]
)
def test_what_is_no_place_is_not_on_the_map(label: str) -> None:
    assert position_of(label) is None


@pytest.mark.parametrize("spots", [[], [(900.0, 300.0)], [(0.0, 0.0), (1800.0, 705.0)], [(5.0, 700.0)]])
def test_the_part_of_the_map_lies_within_it_and_holds_every_circle(spots: list[tuple[float, float]]) -> None:
    x, y, width, height = window(spots)

    assert x >= 0
    assert y >= 0
    assert x + width <= 1800.01
    assert y + height <= 705.01
    assert all(x <= left <= x + width and y <= upper <= y + height for left, upper in spots)
