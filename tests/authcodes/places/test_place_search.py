"""Places are found by a part of their name, among those of the brand alone."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from authcodes.places import search
from authcodes.rollups import rollups
from brands.models.tenants import Brand
from core.db import row_guard
from core.errors import Invalid
from tests.support import factories
from tests.support.portal import address, scan, text

pytestmark = pytest.mark.django_db
CODES, SCANS = "authcodes.authcode", "authcodes.scan"
BERLIN, PUNE, ZURICH = "Berlin, State of Berlin", "Pune, Maharashtra", "Zürich, Zurich"
ODD = "100% Old_Town \\ Mile, Region"


def scanned(brand: Brand, *places: str, days_ago: int = 0) -> None:
    """A first scan of a code in each."""
    at = timezone.now() - timedelta(days=days_ago)
    for place in places:
        code = factories.code(brand)
        scan(code, location=place, scanned_at=at, scan_count=1)
        AuthCode.objects.filter(pk=code.pk).update(scan_count=1, first_scan_at=at, first_scan_location=place)


def places_of(client: Client, label: str, **query: str) -> list[str]:
    rows = client.get(address(label), query).context["cl"].result_list
    return sorted(getattr(row, "location" if isinstance(row, Scan) else "first_scan_location") for row in rows)


def offered(client: Client, typed: str, **more: str) -> Any:
    return client.get(reverse("admin:authcodes_authcode_places"), {"q": typed, **more})


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("Berlin", BERLIN),
        ("berl", BERLIN),
        ("BERLIN, STATE", BERLIN),
        ("state berlin", BERLIN),
        ("Pune", PUNE),
        ("Maharashtra", PUNE),
        ("zurich", ZURICH),
        ("ZÜRICH", ZURICH),
        ("100%", ODD),
        ("old_town", ODD),
        ("\\", ODD),
    ],
)
@pytest.mark.parametrize(("label", "parameter"), [(SCANS, "location"), (CODES, "first_scan_location")])
def test_a_part_of_a_place_finds_it(
    client: Client, brand: Brand, label: str, parameter: str, typed: str, found: str
) -> None:
    scanned(brand, BERLIN, PUNE, ZURICH, ODD, "")

    assert places_of(client, label, **{parameter: typed}) == [found]


@pytest.mark.parametrize("typed", ["%", "_", "Ber%", "B_rlin", "Atlantis", ","])
def test_other_texts_find_nothing(client: Client, brand: Brand, typed: str) -> None:
    scanned(brand, BERLIN, PUNE, "")

    assert places_of(client, SCANS, location=typed) == []


def test_the_whole_name_of_a_place_means_that_place_alone(client: Client, brand: Brand) -> None:
    scanned(brand, "Goa", "Goa, Goa", "Old Goa, Goa")

    assert places_of(client, SCANS, location="Goa") == ["Goa"]
    assert places_of(client, SCANS, location="goa") == ["Goa", "Goa, Goa", "Old Goa, Goa"]


def test_places_of_rolled_up_days_are_known(client: Client, brand: Brand) -> None:
    scanned(brand, BERLIN, PUNE, days_ago=40)
    scanned(brand, ZURICH)
    rollups.catch_up(brand=brand, at=timezone.now())

    assert search.scanned_places([brand]) == [BERLIN, PUNE, ZURICH]
    assert places_of(client, SCANS, location="Berlin") == [BERLIN]


def test_the_overview_finds_by_a_part(client: Client, brand: Brand) -> None:
    scanned(brand, BERLIN, PUNE, days_ago=3)
    rollups.catch_up(brand=brand, at=timezone.now())
    scanned(brand, BERLIN)

    shown = client.get(reverse("admin:index"), {"location": "berlin"}).context["home"]

    assert (shown.scans.accepted, shown.tiles[0].value) == (2, "2")
    assert [place.name for place in shown.scans.places] == [BERLIN]
    assert client.get(shown.tiles[0].link).context["cl"].result_count == 2


def test_codes_are_found_by_where_they_are_kept(client: Client, brand: Brand) -> None:
    kept, other, empty = (factories.code(brand) for _ in range(3))
    AuthCode.objects.filter(pk=kept.pk).update(inventory_location="Lager Köln 2", location="Hamburg")
    AuthCode.objects.filter(pk=other.pk).update(inventory_location="Lager Bonn", location="Bremen")
    codes = address(CODES)

    def found(**query: str) -> list[AuthCode]:
        return list(client.get(codes, query).context["cl"].result_list)

    assert found(inventory_location="koln") == [kept]
    assert found(inventory_location="lager") == [other, kept]
    assert found(location="bremen") == [other]
    assert found(q="lager köln") == [kept]
    assert found(q="Hamburg") == [kept]
    assert offered(client, "lag", of="inventory_location").json() == {"places": ["Lager Bonn", "Lager Köln 2"]}
    assert empty not in found(inventory_location="a")


def test_suggestions_begin_with_what_begins_so(client: Client, brand: Brand) -> None:
    scanned(brand, "Neu Bern, Region", BERLIN, "Bern, Bern", PUNE)

    assert offered(client, "ber").json() == {"places": [BERLIN, "Bern, Bern", "Neu Bern, Region"]}
    assert offered(client, " ").json() == {"places": []}


def test_no_place_of_another_brand_is_offered_or_found(client: Client, brand: Brand) -> None:
    other = factories.brand()
    scanned(other, BERLIN, days_ago=5)
    scanned(other, "Bern, Bern")
    AuthCode.objects.filter(brand=other).update(inventory_location="Bergen", location="Bergamo")
    rollups.catch_up(brand=other, at=timezone.now())

    for of in ("scanned", "inventory_location", "location"):
        assert offered(client, "ber", of=of).json() == {"places": []}
    assert places_of(client, SCANS, location="ber") == []
    assert "Ber" not in text(client.get(reverse("admin:index"), {"location": "ber"})).replace('"ber"', "")


def test_the_database_shows_no_place_of_another_brand(brand: Brand) -> None:
    other = factories.brand()
    scanned(other, BERLIN)
    AuthCode.objects.filter(brand=other).update(inventory_location="Bergen")

    with row_guard.within([brand.pk]):
        assert search.scanned_places([other]) == []
        assert search.places_of_codes([other], "inventory_location") == []


@pytest.mark.parametrize("typed", ["x" * 201, "x" * 10_000, "Ber\0lin", "Ber\nlin"])
def test_what_no_place_is_called_is_refused_in_words(client: Client, brand: Brand, typed: str) -> None:
    scanned(brand, BERLIN)

    with pytest.raises(Invalid):
        search.find(typed, [BERLIN])
    assert offered(client, typed).status_code == 400
    answer = client.get(address(SCANS), {"location": typed}, follow=True)
    home = client.get(reverse("admin:index"), {"location": typed})
    if "\0" in typed:
        assert (answer.status_code, home.status_code) == (400, 400)
    else:
        assert (answer.status_code, home.status_code) == (200, 200)
        assert list(answer.context["messages"])
        assert home.context["form"].errors["location"]


def test_too_many_places_are_refused_in_words() -> None:
    known = [f"City {n}, Region" for n in range(search.MAX_MATCHES + 1)]

    with pytest.raises(search.TooManyPlaces, match="Type more of the name"):
        search.find("city", known)
    assert search.find("city 77,", known)[0] == "City 77, Region"
    assert len(search.suggested("city", known)) == search.MAX_SUGGESTED


@pytest.mark.parametrize("kind", ["", "nonsense", "notes", "location; DROP"])
def test_unknown_kinds_of_places_are_refused(client: Client, kind: str) -> None:
    assert offered(client, "ber", of=kind).status_code == 400


def test_statements_do_not_grow_with_places_and_scans(client: Client, brand: Brand) -> None:
    def statements() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert len(places_of(client, SCANS, location="city")) > 0
        return len(queries)

    scanned(brand, "City 0, Region")
    few = statements()
    scanned(brand, *(f"City {n}, Region" for n in range(1, 25)))

    assert statements() == few


def test_known_places_are_read_from_indexes(brand: Brand) -> None:
    """Under the role that the portal reads with, whose policies keep LIKE away from indexes."""
    with row_guard.within([brand.pk]), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_sort = off")
        for statement, index in [
            (search.FETCH_CLOSED_PLACES.text, "cell_rollup_of_place"),
            (search.FETCH_PLACES_OF_CODES["inventory_location"].text, "auth_code_of_inventory"),
            (search.FETCH_PLACES_OF_CODES["location"].text, "auth_code_of_location"),
        ]:
            cursor.execute("EXPLAIN " + statement, {"brands": [brand.pk], "most": 10})
            plan = "\n".join(line for [line] in cursor.fetchall())
            assert plan.count(f"using {index}") == 2, plan
            assert "> (step_1.name)" in plan, plan
