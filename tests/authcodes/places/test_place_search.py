"""Search for places of one brand by a part of their name."""

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
SPECIAL = "100% Old_Town \\ Mile, Region"


def create_scans(brand: Brand, *places: str, days_ago: int = 0) -> None:
    """Creates a first scan in each place."""
    at = timezone.now() - timedelta(days=days_ago)
    for place in places:
        code = factories.code(brand)
        scan(code, location=place, scanned_at=at, scan_count=1)
        AuthCode.objects.filter(pk=code.pk).update(scan_count=1, first_scan_at=at, first_scan_location=place)


def places_of(client: Client, label: str, **query: str) -> list[str]:
    rows = client.get(address(label), query).context["cl"].result_list
    return sorted(getattr(row, "location" if isinstance(row, Scan) else "first_scan_location") for row in rows)


def request_suggestions(client: Client, search_text: str, **options: str) -> Any:
    return client.get(reverse("admin:authcodes_authcode_places"), {"q": search_text, **options})


@pytest.mark.parametrize(
    ("search_text", "place"),
    [
        ("Berlin", BERLIN),
        ("berl", BERLIN),
        ("BERLIN, STATE", BERLIN),
        ("state berlin", BERLIN),
        ("Pune", PUNE),
        ("Maharashtra", PUNE),
        ("zurich", ZURICH),
        ("ZÜRICH", ZURICH),
        ("100%", SPECIAL),
        ("old_town", SPECIAL),
        ("\\", SPECIAL),
    ],
)
@pytest.mark.parametrize(("label", "parameter"), [(SCANS, "location"), (CODES, "first_scan_location")])
def test_place_is_found_by_a_part_of_its_name(
    client: Client, brand: Brand, label: str, parameter: str, search_text: str, place: str
) -> None:
    create_scans(brand, BERLIN, PUNE, ZURICH, SPECIAL, "")

    assert places_of(client, label, **{parameter: search_text}) == [place]


@pytest.mark.parametrize("search_text", ["%", "_", "Ber%", "B_rlin", "Atlantis", ","])
def test_other_texts_match_no_place(client: Client, brand: Brand, search_text: str) -> None:
    create_scans(brand, BERLIN, PUNE, "")

    assert places_of(client, SCANS, location=search_text) == []


def test_full_name_matches_only_that_place(client: Client, brand: Brand) -> None:
    create_scans(brand, "Goa", "Goa, Goa", "Old Goa, Goa")

    assert places_of(client, SCANS, location="Goa") == ["Goa"]
    assert places_of(client, SCANS, location="goa") == ["Goa", "Goa, Goa", "Old Goa, Goa"]


def test_places_of_rolled_up_days_can_be_searched(client: Client, brand: Brand) -> None:
    create_scans(brand, BERLIN, PUNE, days_ago=40)
    create_scans(brand, ZURICH)
    rollups.catch_up(brand=brand, at=timezone.now())

    assert search.scanned_places([brand]) == [BERLIN, PUNE, ZURICH]
    assert places_of(client, SCANS, location="Berlin") == [BERLIN]


def test_home_filters_by_a_part_of_a_place(client: Client, brand: Brand) -> None:
    create_scans(brand, BERLIN, PUNE, days_ago=3)
    rollups.catch_up(brand=brand, at=timezone.now())
    create_scans(brand, BERLIN)

    home = client.get(reverse("admin:index"), {"location": "berlin"}).context["home"]

    assert (home.scans.accepted, home.tiles[0].value) == (2, "2")
    assert [place.name for place in home.scans.places] == [BERLIN]
    assert client.get(home.tiles[0].link).context["cl"].result_count == 2


def test_codes_are_filtered_by_storage_location(client: Client, brand: Brand) -> None:
    stored_code, other, code_without_location = (factories.code(brand) for _ in range(3))
    AuthCode.objects.filter(pk=stored_code.pk).update(inventory_location="Lager Köln 2", location="Hamburg")
    AuthCode.objects.filter(pk=other.pk).update(inventory_location="Lager Bonn", location="Bremen")
    codes_url = address(CODES)

    def list_codes(**query: str) -> list[AuthCode]:
        return list(client.get(codes_url, query).context["cl"].result_list)

    assert list_codes(inventory_location="koln") == [stored_code]
    assert list_codes(inventory_location="lager") == [other, stored_code]
    assert list_codes(location="bremen") == [other]
    assert list_codes(q="lager köln") == [stored_code]
    assert list_codes(q="Hamburg") == [stored_code]
    assert request_suggestions(client, "lag", of="inventory_location").json() == {
        "places": ["Lager Bonn", "Lager Köln 2"]
    }
    assert code_without_location not in list_codes(inventory_location="a")


def test_place_beyond_those_that_are_read_is_found_by_its_whole_name(
    client: Client, brand: Brand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "MAX_KNOWN", 1)
    for place in ("Aachen", "Bonn"):
        AuthCode.objects.filter(pk=factories.code(brand).pk).update(inventory_location=place)

    results = [client.get(address(CODES), {"q": text}).context["cl"].result_list for text in ("aach", "Bonn", "bon")]

    assert [[code.inventory_location for code in codes] for codes in results] == [["Aachen"], ["Bonn"], []]


def test_suggestions_start_with_places_that_begin_with_the_text(client: Client, brand: Brand) -> None:
    create_scans(brand, "Neu Bern, Region", BERLIN, "Bern, Bern", PUNE)

    assert request_suggestions(client, "ber").json() == {"places": [BERLIN, "Bern, Bern", "Neu Bern, Region"]}
    assert request_suggestions(client, " ").json() == {"places": []}


def test_places_of_another_brand_are_neither_suggested_nor_matched(client: Client, brand: Brand) -> None:
    other = factories.brand()
    create_scans(other, BERLIN, days_ago=5)
    create_scans(other, "Bern, Bern")
    AuthCode.objects.filter(brand=other).update(inventory_location="Bergen", location="Bergamo")
    rollups.catch_up(brand=other, at=timezone.now())

    for field in ("scanned", "inventory_location", "location"):
        assert request_suggestions(client, "ber", of=field).json() == {"places": []}
    assert places_of(client, SCANS, location="ber") == []
    assert "Ber" not in text(client.get(reverse("admin:index"), {"location": "ber"})).replace('"ber"', "")


def test_row_guard_hides_places_of_another_brand(brand: Brand) -> None:
    other = factories.brand()
    create_scans(other, BERLIN)
    AuthCode.objects.filter(brand=other).update(inventory_location="Bergen")

    with row_guard.within([brand.pk]):
        assert search.scanned_places([other]) == []
        assert search.places_of_codes([other], "inventory_location") == []


@pytest.mark.parametrize("search_text", ["x" * 201, "x" * 10_000, "Ber\0lin", "Ber\nlin"])
def test_invalid_place_name_is_rejected_with_a_message(client: Client, brand: Brand, search_text: str) -> None:
    create_scans(brand, BERLIN)

    with pytest.raises(Invalid):
        search.find(search_text, [BERLIN])
    assert request_suggestions(client, search_text).status_code == 400
    answer = client.get(address(SCANS), {"location": search_text}, follow=True)
    home = client.get(reverse("admin:index"), {"location": search_text})
    if "\0" in search_text:
        assert (answer.status_code, home.status_code) == (400, 400)
    else:
        assert (answer.status_code, home.status_code) == (200, 200)
        assert list(answer.context["messages"])
        assert home.context["form"].errors["location"]


def test_too_many_matching_places_are_rejected_with_a_message() -> None:
    known_places = [f"City {n}, Region" for n in range(search.MAX_MATCHES + 1)]

    with pytest.raises(search.TooManyPlaces, match="Type more of the name"):
        search.find("city", known_places)
    assert search.find("city 77,", known_places)[0] == "City 77, Region"
    assert len(search.suggested("city", known_places)) == search.MAX_SUGGESTED


@pytest.mark.parametrize("field", ["", "nonsense", "notes", "location; DROP"])
def test_unknown_field_of_places_is_rejected(client: Client, field: str) -> None:
    assert request_suggestions(client, "ber", of=field).status_code == 400


def test_statement_count_does_not_grow_with_places_and_scans(client: Client, brand: Brand) -> None:
    def count_statements() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert len(places_of(client, SCANS, location="city")) > 0
        return len(queries)

    create_scans(brand, "City 0, Region")
    baseline = count_statements()
    create_scans(brand, *(f"City {n}, Region" for n in range(1, 25)))

    assert count_statements() == baseline


def test_known_places_are_read_from_an_index(brand: Brand) -> None:
    """Under row-level security, which prevents the use of indexes for LIKE."""
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
