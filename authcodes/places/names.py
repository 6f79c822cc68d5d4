"""Places as pages show them: without a region that only repeats the city."""

# Of a region's name, what is no name: "State of Berlin", "Buenos Aires Province".
KINDS = {"and", "capital", "city", "district", "federal", "free", "governorate", "hanseatic", "land", "metropolitan"}
KINDS |= {"municipality", "of", "oblast", "prefecture", "province", "region", "state", "territory", "the"}


def short(label: str) -> str:
    """`Berlin` for `Berlin, State of Berlin`; any other label as it is. Lists, filters and files keep the whole one."""
    city, _comma, region = label.rpartition(", ")
    named = [word for word in region.casefold().split() if word not in KINDS]
    return city if city and named == city.casefold().split() else label
