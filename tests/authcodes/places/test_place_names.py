"""Places as pages show them."""

import pytest

from authcodes.places import names


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("Berlin, State of Berlin", "Berlin"),
        ("Hamburg, Hamburg", "Hamburg"),
        ("Buenos Aires, Buenos Aires Province", "Buenos Aires"),
        ("Mitte, Berlin", "Mitte, Berlin"),
        ("Kansas City, Kansas", "Kansas City, Kansas"),
        ("Pune, Maharashtra", "Pune, Maharashtra"),
        ("Monaco", "Monaco"),
        ("State, State of", "State, State of"),
        ("", ""),
    ],
)
def test_a_region_that_repeats_its_city_is_left_out(label, shown):
    assert names.short(label) == shown
