"""Place names for display: without a region that only repeats the city."""

# Words in a region's name that are not part of the name: "State of Berlin", "Buenos Aires Province".
KINDS = {"and", "capital", "city", "district", "federal", "free", "governorate", "hanseatic", "land", "metropolitan"}
KINDS |= {"municipality", "of", "oblast", "prefecture", "province", "region", "state", "territory", "the"}


def short(label: str) -> str:
    """`Berlin` for `Berlin, State of Berlin`; other labels unchanged. Lists, filters and files keep the full label."""
    city, _comma, region = label.rpartition(", ")
    named = [word for word in region.casefold().split() if word not in KINDS]
    return city if city and named == city.casefold().split() else label
