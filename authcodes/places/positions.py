"""The positions of places that scans are named after: from the geocoder's labels back to coordinates."""

from dataclasses import dataclass
from functools import lru_cache

from authcodes.places.geocoder import Atlas, loaded_atlas

MAX_NAMESAKES = 200  # places with the same name that are compared


@dataclass(frozen=True, slots=True)
class Position:
    """Degrees, WGS 84."""

    latitude: float
    longitude: float


@lru_cache(maxsize=20_000)
def position_of(label: str) -> Position | None:
    """The position of `City, Region` or of a city alone; the largest place of that name. None if there is none."""
    atlas = loaded_atlas()
    city, _comma, region = label.rpartition(", ")
    best = _largest(atlas, city, region) if city else None
    if best is None:
        best = _largest(atlas, label, "")
    return None if best is None else Position(atlas.latitudes[best], atlas.longitudes[best])


def _largest(atlas: Atlas, city: str, region: str) -> int | None:
    line = f"\n{city}\n".encode()
    best, begin = None, -1
    for _number in range(MAX_NAMESAKES):
        begin = atlas.cities.find(line, begin + 1)
        if begin < 0:
            break
        index = atlas.index_at(begin + 1)
        is_here = atlas.regions[atlas.region_ids[index]][0] == region
        if is_here and (best is None or atlas.populations[index] > atlas.populations[best]):
            best = index
    return best
