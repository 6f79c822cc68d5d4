"""Reverse geocoding: the only code that turns a position into the name of a city and region, offline.

Place data (c) GeoNames, CC BY 4.0 (`data/README.md` has the source and the format).
"""

from __future__ import annotations  # array[float] is not a runtime expression before Python 3.12

import gzip
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import asin, cos, floor, radians, sin, sqrt
from math import degrees as to_degrees
from pathlib import Path
from threading import Lock

PLACES_FILE = Path(__file__).parent / "data" / "places_cities1000.tsv.gz"

EARTH_RADIUS_KM = 6371.0088  # mean radius of the sphere (IUGG)
SEARCH_RADII_KM = (5.0, 20.0, 100.0)  # beyond the last one a position has no place
MAX_PULL_KM = 8.0
PEOPLE_PER_SQUARE_PULL_KM = 15_625  # a city of a million pulls MAX_PULL_KM far
BANDS_PER_DEGREE = 10


@dataclass(frozen=True, slots=True)
class Place:
    """A city (`Pune`), its first-level region (`Maharashtra`, may be empty) and ISO 3166-1 country code (`IN`)."""

    city: str
    region: str
    country: str

    @property
    def label(self) -> str:
        """`City, Region` as in scans (spec: scan record, `location`); only the city if the region is unknown."""
        return f"{self.city}, {self.region}" if self.region else self.city

    def __str__(self) -> str:
        return self.label


def nearest(*, latitude: float, longitude: float) -> Place | None:
    """The city that a person at this position (degrees, WGS 84) would name; None more than 100 km from any place.

    The first call in a process loads the data; later calls only read it, from any thread. Raises ValueError for a
    position that is not on Earth: latitude beyond +-90, longitude beyond +-180, or NaN.
    """
    if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
        raise ValueError(f"Not a position in degrees: latitude {latitude}, longitude {longitude}")
    atlas = loaded_atlas()
    closest = atlas.closest(latitude, longitude)
    if closest is None:
        return None
    return atlas.place(atlas.pulled(latitude, longitude, closest))


def country_of(latitude: float, longitude: float) -> str:
    """The country's ISO 3166-1 code; empty if no place is near. Raises as `nearest`."""
    result = nearest(latitude=latitude, longitude=longitude)
    return result.country if result else ""


@dataclass(frozen=True, slots=True, eq=False)
class Atlas:
    """All places as parallel arrays, sorted by `strip`: never written after `read_atlas`, so threads share it.

    The globe is cut into bands of 0.1 degree of latitude, laid end to end into one strip, 360 degrees a band.
    The places of a band between two meridians are then neighbours, and two bisections find them.
    """

    strip: array[float]
    latitudes: array[float]  # degrees
    longitudes: array[float]  # degrees
    populations: array[int]
    region_ids: array[int]
    regions: tuple[tuple[str, str], ...]  # (region, country)
    city_starts: array[int]  # city i is the bytes from here to the next newline
    cities: bytes  # UTF-8, one block because 155,000 strings would take five times the memory; begins with a newline
    by_start: array[int]  # the places in the order of their city's bytes

    def index_at(self, start: int) -> int:
        """The place whose city starts at this byte."""
        return self.by_start[bisect_left(self.by_start, start, key=self.city_starts.__getitem__)]

    def place(self, index: int) -> Place:
        start = self.city_starts[index]
        city = self.cities[start : self.cities.index(b"\n", start)].decode()
        region, country = self.regions[self.region_ids[index]]
        return Place(city=city, region=region, country=country)

    def closest(self, latitude: float, longitude: float) -> tuple[float, int] | None:
        """Distance (km) and index of the nearest place, or None beyond the last search radius.

        Each circle is searched completely, so its best is the best of all.
        """
        for radius in SEARCH_RADII_KM:
            best = min(self.within(latitude, longitude, radius), default=None)
            if best is not None:
                return best
        return None

    def pulled(self, latitude: float, longitude: float, closest: tuple[float, int]) -> int:
        """Index of the place to name: big cities win over their own districts and suburbs.

        The lowest distance less pull wins. Only places in the region of the closest one compete; otherwise New York
        would swallow Hoboken across a state border. A position near a border can still fall on the wrong side.
        """
        closest_km, closest_index = closest
        region_id = self.region_ids[closest_index]
        _, index = min(
            (distance - pull_km(self.populations[index]), index)
            for distance, index in self.within(latitude, longitude, closest_km + MAX_PULL_KM)
            if self.region_ids[index] == region_id
        )
        return index

    def within(self, latitude: float, longitude: float, radius_km: float) -> Iterator[tuple[float, int]]:
        """Distance (km) and index of every place at most `radius_km` away, in no particular order."""
        for start, end in self._slices(latitude, longitude, radius_km):
            for index in range(start, end):
                distance = distance_km(latitude, longitude, self.latitudes[index], self.longitudes[index])
                if distance <= radius_km:
                    yield distance, index

    def _slices(self, latitude: float, longitude: float, radius_km: float) -> Iterator[tuple[int, int]]:
        """Index ranges that together contain every place in the circle, and some outside it."""
        angle = to_degrees(radius_km / EARTH_RADIUS_KM)
        south, north = max(latitude - angle, -90.0), min(latitude + angle, 90.0)
        spans = longitude_spans(latitude, longitude, angle)
        for band in range(band_of(south), band_of(north) + 1):
            for west, east in spans:
                yield (
                    bisect_left(self.strip, strip_position(band, west)),
                    bisect_right(self.strip, strip_position(band, east)),
                )


def distance_km(latitude: float, longitude: float, other_latitude: float, other_longitude: float) -> float:
    """Great-circle distance in km on the mean sphere (haversine; within 0.6 % of the ellipsoid)."""
    half_latitude = radians(other_latitude - latitude) / 2
    half_longitude = radians(other_longitude - longitude) / 2
    parallels = cos(radians(latitude)) * cos(radians(other_latitude))
    haversine = sin(half_latitude) ** 2 + parallels * sin(half_longitude) ** 2
    return 2 * EARTH_RADIUS_KM * asin(sqrt(min(1.0, haversine)))  # rounding exceeds 1 at the antipode


def longitude_spans(latitude: float, longitude: float, radius: float) -> tuple[tuple[float, float], ...]:
    """The (west, east) meridians that enclose a circle of `radius` degrees: two spans where it crosses +-180."""
    if abs(latitude) + radius >= 90:
        return ((-180.0, 180.0),)  # a pole lies inside, and with it every meridian
    # A circle's widest point is not at its centre's latitude, so reach / cos(latitude) would be too narrow.
    width = to_degrees(asin(min(1.0, sin(radians(radius)) / cos(radians(latitude)))))
    west, east = longitude - width, longitude + width
    if west < -180:
        return (-180.0, east), (west + 360, 180.0)
    if east > 180:
        return (-180.0, east - 360), (west, 180.0)
    return ((west, east),)


def pull_km(population: int) -> float:
    """How much nearer (km) a place counts for its size: the radius of a city, growing with the square root."""
    return min(sqrt(population / PEOPLE_PER_SQUARE_PULL_KM), MAX_PULL_KM)


def band_of(latitude: float) -> int:
    return floor((latitude + 90) * BANDS_PER_DEGREE)


def strip_position(band: int, longitude: float) -> float:
    return band * 360 + longitude + 180


_loading = Lock()


def loaded_atlas() -> Atlas:
    """The only atlas of this process. The lock makes the first callers wait, so that none loads a second copy."""
    with _loading:
        return read_atlas(PLACES_FILE)


@cache
def read_atlas(file: Path) -> Atlas:
    """The places of a gzipped table (columns in `data/README.md`), sorted along the strip."""
    regions: dict[tuple[str, str], int] = {}
    latitudes, longitudes, strip = array("d"), array("d"), array("d")
    populations, region_ids, city_starts = array("I"), array("H"), array("I")
    cities = bytearray(b"\n")
    with gzip.open(file, "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            city, region, country, latitude, longitude, population = line.rstrip("\n").split("\t")
            city_starts.append(len(cities))
            cities += f"{city}\n".encode()
            region_ids.append(regions.setdefault((region, country), len(regions)))
            latitudes.append(float(latitude))
            longitudes.append(float(longitude))
            populations.append(int(population))
            strip.append(strip_position(band_of(latitudes[-1]), longitudes[-1]))
    order = sorted(range(len(strip)), key=strip.__getitem__)
    starts = array("I", (city_starts[i] for i in order))
    return Atlas(
        strip=array("d", (strip[i] for i in order)),
        latitudes=array("d", (latitudes[i] for i in order)),
        longitudes=array("d", (longitudes[i] for i in order)),
        populations=array("I", (populations[i] for i in order)),
        region_ids=array("H", (region_ids[i] for i in order)),
        regions=tuple(regions),
        city_starts=starts,
        cities=bytes(cities),
        by_start=array("I", sorted(range(len(starts)), key=starts.__getitem__)),
    )
