"""The people of the demo's history and where they live: made-up names, and real cities with their coordinates."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class City:
    """A city (WGS 84 degrees), and its relative share of a brand's people."""

    name: str
    latitude: float
    longitude: float
    weight: int


GERMANY = (
    City("Berlin", 52.52, 13.405, 9),
    City("Hamburg", 53.551, 9.994, 5),
    City("Munich", 48.137, 11.575, 5),
    City("Cologne", 50.938, 6.96, 4),
    City("Frankfurt", 50.11, 8.682, 3),
    City("Leipzig", 51.34, 12.375, 2),
    City("Stuttgart", 48.776, 9.183, 2),
    City("Vienna", 48.208, 16.373, 2),
    City("Zurich", 47.377, 8.541, 1),
    City("Amsterdam", 52.373, 4.892, 1),
)
AMERICA = (
    City("New York", 40.713, -74.006, 8),
    City("Boston", 42.36, -71.059, 3),
    City("Philadelphia", 39.953, -75.165, 2),
    City("Washington", 38.907, -77.037, 2),
    City("Chicago", 41.878, -87.63, 1),
)
# Where copies of a code are scanned.
FAR_AWAY = (
    City("Istanbul", 41.008, 28.978, 1),
    City("Dubai", 25.205, 55.271, 1),
    City("Lagos", 6.524, 3.379, 1),
    City("Mumbai", 19.076, 72.878, 1),
)

AT_AURORA = (
    "Amelie Arnold", "Bastian Bauer", "Carla Conrad", "David Dietrich", "Elif Erdem", "Fabian Franke", "Greta Graf",
    "Hannes Hartmann", "Ida Iversen", "Jonas Jung", "Karla Keller", "Lukas Lang", "Maria Meyer", "Noah Neumann",
    "Oskar Otto", "Paula Peters", "Quentin Quast", "Rosa Richter", "Samuel Schulz", "Thea Thomas", "Umut Uysal",
    "Vera Vogel", "Willi Weber", "Yara Yilmaz", "Zoe Zimmer", "Alma Albrecht", "Bruno Busch", "Clara Christ",
    "Dana Dahl", "Emil Engel", "Frida Fuchs", "Gustav Gross", "Helena Haas", "Ivan Ilic", "Julia Jansen",
    "Konrad Kuhn", "Lea Lorenz", "Mina Maurer",
)  # fmt: skip
AT_BISTRO = (
    "Abby Allen", "Brian Baker", "Chloe Carter", "Dylan Davis", "Emma Evans", "Frank Foster", "Grace Garcia",
    "Henry Hughes", "Isla Irving", "Jack Johnson", "Kate King", "Leo Lopez", "Mia Moore", "Nora Nelson",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Life:
    """A brand's specifics: names, cities, the prefix of its codes, and rewards with their costs.

    `scans`: the approximate number of scans.
    """

    names: Sequence[str]
    cities: Sequence[City]
    prefix: str
    scans: int
    rewards: Sequence[tuple[str, int, int | None]]
    ended_campaign: str
    seed: int


LIVES = {
    "demo-aurora": Life(
        AT_AURORA,
        GERMANY,
        "AURH",
        900,
        [("Hand cream, travel size", 60, None), ("Vitamin mask", 120, 80), ("Day at the spa", 900, 5)],
        "Autumn glow",
        seed=1,
    ),
    "demo-bistro": Life(
        AT_BISTRO,
        AMERICA,
        "BISH",
        260,
        [("Espresso", 25, None), ("Dessert of the day", 60, None), ("Cooking class", 400, 8)],
        "Truffle weeks",
        seed=2,
    ),
}
