"""The portal's list of people, and what it tells a brand's staff of others."""

from datetime import UTC, datetime

import pytest
from django.test import Client
from django.utils import timezone

from brands.models.tenants import Brand
from loyalty.models.accounts import UserPoints
from tests.support import factories
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db


def people(client: Client, **query: str) -> list[str]:
    """The names in front of the addresses of the users whom the list shows."""
    rows = client.get(address("brands.user"), query).context["cl"].result_list
    return [row.email.partition("@")[0] for row in rows]


def test_superuser_finds_an_address_in_capitals(superuser: Client, client: Client, brand: Brand) -> None:
    factories.customer(brand, email="nora@example.com")

    assert people(superuser, q="Nora@Example.com") == people(client, q="Nora@Example.com") == ["nora"]


def test_page_shows_moments_in_the_zone_of_the_registered_brand(superuser: Client) -> None:
    """The user's id is the id of another brand, in another zone."""
    factories.brand(pk=900_001, time_zone="America/Caracas")
    brand, joined = factories.brand(time_zone="Asia/Kolkata"), datetime(2026, 3, 1, 10, tzinfo=UTC)
    customer = factories.customer(brand, pk=900_001, date_joined=joined)

    page = text(superuser.get(address("brands.user", "change", customer.pk)))

    assert ("15:30" in page, "06:00" in page) == (True, False)


def test_list_shows_when_people_joined_in_the_brands_zone() -> None:
    brand, other_brand = factories.brand(time_zone="Asia/Kolkata"), factories.brand(time_zone="America/Caracas")
    for each in (brand, other_brand):
        factories.customer(each)

    own_list = text(browser(staff(brand)).get(address("brands.user")))
    list_of_both = text(browser(staff(brand, other_brand)).get(address("brands.user")))

    assert ("IST" in own_list, "UTC" in own_list) == (True, False)
    assert ("IST" in list_of_both, "-04" in list_of_both) == (True, True)


def test_name_that_any_brand_in_scope_corrected_is_shown(brand: Brand) -> None:
    other_brand = factories.brand()
    customer = factories.customer(brand, first_name="Ana", last_name="Li")
    factories.accounts.enrol(user_id=customer.pk, brand_id=other_brand.pk, at=timezone.now())
    UserPoints.objects.filter(user=customer, brand=other_brand).update(first_name="Anna", last_name="Lee")

    pages = [text(browser(staff(*brands)).get(address("brands.user"))) for brands in ([brand], [brand, other_brand])]

    assert ["Anna Lee" in page for page in pages] == [False, True]


def test_list_finds_the_names_that_it_shows(brand: Brand) -> None:
    """Also of customers who registered elsewhere, and none that a brand has corrected."""
    client = browser(staff(brand, email="olga@example.com", first_name="Olga"))
    corrected = factories.customer(brand, email="a@example.com", first_name="Ana")
    UserPoints.objects.filter(user=corrected).update(first_name="Zoë")
    guest = factories.customer(factories.brand(), email="b@example.com", first_name="Berta")
    factories.accounts.enrol(user_id=guest.pk, brand_id=brand.pk, at=timezone.now())
    factories.customer(factories.brand(), email="c@example.com", first_name="Berta")

    result = {name: people(client, q=name) for name in ("Ana", "zoe", "berta", "OLGA", "b@example.com", "none")}

    assert result == {
        "Ana": [],
        "zoe": ["a"],
        "berta": ["b"],
        "OLGA": ["olga"],
        "b@example.com": ["b"],
        "none": [],
    }
