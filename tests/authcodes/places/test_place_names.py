"""Short names of places for display."""

import pytest

from authcodes.places import names


@pytest.mark.parametrize(
    ("label", "short_name"),
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
def test_region_that_repeats_its_city_is_omitted(label, short_name):
    assert names.short(label) == short_name
