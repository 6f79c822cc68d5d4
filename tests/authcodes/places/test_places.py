"""The geocoder names the city and region of a position."""

import gzip
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from math import asin, cos, degrees, dist, inf, nan, radians, sin
from random import Random
from threading import Barrier

import pytest
from celery.signals import worker_init

from authcodes import tasks
from authcodes.places import geocoder
from authcodes.places.geocoder import Place, nearest

KNOWN_CITIES = {
    "Paris, Île-de-France": (48.8584, 2.2945),  # Eiffel Tower
    "London, England": (51.5007, -0.1246),
    "Pune, Maharashtra": (18.5289, 73.8744),
    "New York City, New York": (40.7128, -74.0060),
    "Tokyo, Tokyo": (35.6595, 139.7005),  # Shibuya
    "Sydney, New South Wales": (-33.8568, 151.2153),
    "Seoul, Seoul": (37.4979, 127.0276),  # Gangnam
    "Rio de Janeiro, Rio de Janeiro": (-22.9711, -43.1822),
    "Cape Town, Western Cape": (-33.9249, 18.4241),
    "Suva, Central": (-18.1416, 178.4419),
}


@pytest.mark.parametrize("label", KNOWN_CITIES)
def test_known_position_has_the_label_of_its_city(label):
    latitude, longitude = KNOWN_CITIES[label]

    assert nearest(latitude=latitude, longitude=longitude).label == label


@pytest.mark.parametrize(
    ("latitude", "longitude", "district", "city"),
    [
        (52.5200, 13.4049, "Mitte", "Berlin"),
        (41.8841, -87.6333, "Chicago Loop", "Chicago"),
        (-23.5477, -46.6315, "Se", "São Paulo"),
    ],
)
def test_city_takes_precedence_over_its_closer_district(latitude, longitude, district, city):
    assert closest_place(latitude, longitude).city == district
    assert nearest(latitude=latitude, longitude=longitude).city == city


@pytest.mark.parametrize(
    ("latitude", "longitude", "label"),
    [
        (40.7440, -74.0324, "Hoboken, New Jersey"),
        (39.9440, -75.1190, "Camden, New Jersey"),
        (42.3001, -83.0165, "Windsor, Ontario"),
    ],
)
def test_large_city_does_not_take_precedence_across_a_regional_border(latitude, longitude, label):
    assert nearest(latitude=latitude, longitude=longitude).label == label


def test_suburb_beyond_the_pull_of_the_city_has_its_own_name():
    assert nearest(latitude=48.8049, longitude=2.1204).label == "Versailles, Île-de-France"


def test_named_place_has_the_lowest_score_of_its_region():
    atlas, random = geocoder.loaded_atlas(), Random(50)

    for latitude, longitude in [random_position_near_a_place(atlas, random) for _ in range(50)]:
        closest = atlas.closest(latitude, longitude)
        named = atlas.pulled(latitude, longitude, closest)
        scores = scores_of_region(atlas, latitude, longitude, atlas.region_ids[closest[1]])

        assert scores[named] == min(scores.values())


def test_pull_grows_with_the_square_root_of_population_up_to_a_maximum():
    assert geocoder.pull_km(0) == 0
    assert geocoder.pull_km(250_000) == 4
    assert geocoder.pull_km(1_000_000) == geocoder.pull_km(30_000_000) == geocoder.MAX_PULL_KM


@pytest.mark.parametrize("position", [(0, 0), (-48.88, -123.39), (30, -40), (-40, 80)])
def test_open_ocean_has_no_place(position):
    latitude, longitude = position

    assert nearest(latitude=latitude, longitude=longitude) is None


def test_places_more_than_100_km_away_are_ignored(tmp_path):
    atlas = small_atlas(tmp_path, [(0, 0)])

    assert atlas.closest(0.899, 0) == (pytest.approx(99.96, abs=0.01), 0)
    assert atlas.closest(0.900, 0) is None


def test_label_falls_back_to_the_city_without_a_region():
    assert Place(city="Macau", region="", country="MO").label == "Macau"
    assert str(Place(city="Pune", region="Maharashtra", country="IN")) == "Pune, Maharashtra"


def test_place_names_its_country():
    singapore = nearest(latitude=1.3048, longitude=103.8318)

    assert singapore == Place(city="Singapore", region="", country="SG")


@pytest.mark.parametrize("longitude", [180, -180, 179.95, -179.95])
def test_place_is_found_across_the_antimeridian(longitude):
    assert nearest(latitude=-16.5, longitude=longitude).label == "Labasa, Northern"


@pytest.mark.parametrize("latitude", [90, -90])
@pytest.mark.parametrize("longitude", [180, -180, 0])
def test_pole_has_no_place(latitude, longitude):
    assert nearest(latitude=latitude, longitude=longitude) is None


@pytest.mark.parametrize("position", [(90.1, 0), (-90.1, 0), (0, 180.1), (0, -180.1), (nan, 0), (0, nan), (inf, 0)])
def test_position_off_the_earth_is_rejected(position):
    latitude, longitude = position

    with pytest.raises(ValueError, match="Not a position"):
        nearest(latitude=latitude, longitude=longitude)


def test_search_agrees_with_brute_force_on_200_points():
    atlas, random = geocoder.loaded_atlas(), Random(200)
    anywhere = [(random.uniform(-60, 80), random.uniform(-180, 180)) for _ in range(100)]
    inhabited = [random_position_near_a_place(atlas, random) for _ in range(100)]

    for position in anywhere + inhabited:
        assert_nearest_of_all(atlas, position)


@pytest.mark.parametrize(
    ("south", "north", "west", "east"),
    [(87, 90, -180, 180), (-90, -87, -180, 180), (-2, 2, 178, 182), (50, 53, -182, -178)],
    ids=["north pole", "south pole", "antimeridian", "antimeridian from the west"],
)
def test_search_agrees_with_brute_force_at_poles_and_antimeridian(tmp_path, south, north, west, east):
    random = Random(90)
    scattered = [(random.uniform(south, north), wrapped(random.uniform(west, east))) for _ in range(700)]
    edges = [(latitude, longitude) for latitude in (south, north) for longitude in (-180, 180)]
    atlas = small_atlas(tmp_path, scattered[:100])

    for position in scattered[100:] + edges:
        assert_nearest_of_all(atlas, position)


def test_circle_that_touches_the_pole_is_searched(tmp_path):
    """Only rounding decides whether the pole, and so every meridian, lies inside the circle."""
    atlas = small_atlas(tmp_path, [(89.95, 80.0)])
    touching = 90 - degrees(100 / geocoder.EARTH_RADIUS_KM)

    for step in range(-50, 50):
        assert_nearest_of_all(atlas, (touching + step * 1e-14, 0.0))


def test_threads_share_one_atlas_and_agree():
    geocoder.read_atlas.cache_clear()

    answers = run_concurrently(
        8, lambda: [nearest(latitude=lat, longitude=lon).label for lat, lon in KNOWN_CITIES.values()]
    )

    assert answers == [list(KNOWN_CITIES)] * 8
    assert geocoder.read_atlas.cache_info().misses == 1


def test_control_without_the_lock_each_thread_loads_an_atlas():
    """Without this control, the test above could pass even if there were no lock."""
    geocoder.read_atlas.cache_clear()

    run_concurrently(2, lambda: geocoder.read_atlas(geocoder.PLACES_FILE))

    assert geocoder.read_atlas.cache_info().misses == 2


def run_concurrently(count, action):
    barrier = Barrier(count)
    with ThreadPoolExecutor(count) as pool:
        futures = [pool.submit(lambda: (barrier.wait(), action())[1]) for _ in range(count)]
        return [future.result() for future in futures]


def small_atlas(folder, positions):
    file = folder / "places.tsv.gz"
    with gzip.open(file, "wt", encoding="utf-8") as lines:
        lines.writelines(f"City {n}\tRegion\tXX\t{lat}\t{lon}\t0\n" for n, (lat, lon) in enumerate(positions))
    return geocoder.read_atlas(file)


def random_position_near_a_place(atlas, random):
    index = random.randrange(len(atlas.latitudes))
    return atlas.latitudes[index] + random.gauss(0, 0.1), wrapped(atlas.longitudes[index] + random.gauss(0, 0.1))


def wrapped(longitude):
    return (longitude + 180) % 360 - 180


def closest_place(latitude, longitude):
    atlas = geocoder.loaded_atlas()
    _, index = atlas.closest(latitude, longitude)
    return atlas.place(index)


def scores_of_region(atlas, latitude, longitude, region_id):
    return {
        index: geocoder.distance_km(latitude, longitude, atlas.latitudes[index], atlas.longitudes[index])
        - geocoder.pull_km(atlas.populations[index])
        for index, other in enumerate(atlas.region_ids)
        if other == region_id
    }


def assert_nearest_of_all(atlas, position):
    expected = brute_force(atlas, *position)
    closest = atlas.closest(*position)
    if expected > 100:
        assert closest is None
    else:
        assert closest[0] == pytest.approx(expected, abs=1e-5)


def brute_force(atlas, latitude, longitude):
    """Distance (km) to the nearest of all places, through the chord between unit vectors: no grid, no haversine."""
    x, y, z = unit_vector(latitude, longitude)
    cosines = [x * a + y * b + z * c for a, b, c in unit_vectors(atlas)]
    index = cosines.index(max(cosines))
    return 2 * geocoder.EARTH_RADIUS_KM * asin(dist((x, y, z), unit_vectors(atlas)[index]) / 2)


@cache
def unit_vectors(atlas):
    return list(map(unit_vector, atlas.latitudes, atlas.longitudes))


def unit_vector(latitude, longitude):
    parallel = cos(radians(latitude))
    return parallel * cos(radians(longitude)), parallel * sin(radians(longitude)), sin(radians(latitude))


def test_worker_loads_the_places_before_it_forks():
    geocoder.read_atlas.cache_clear()

    tasks.load_places()

    assert geocoder.read_atlas.cache_info().currsize == 1
    assert tasks.load_places in [listener() for _key, listener in worker_init.receivers]
