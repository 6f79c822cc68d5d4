"""The brand of a new row: asked for where there is a choice, and the zone of the form's moments."""

from datetime import UTC, datetime
from typing import Any

import pytest

from brands.models.legal_texts import LegalText
from brands.models.people import StaffRole
from brands.models.tenants import Brand
from tests.support import factories
from tests.support.portal import address, browser, errors, staff, text

pytestmark = pytest.mark.django_db


@pytest.fixture
def two_zones() -> tuple[Brand, Brand]:
    return factories.brand(time_zone="Asia/Kolkata"), factories.brand(time_zone="America/New_York")


def new_text(brand: Any) -> dict[str, Any]:
    """A legal text for `brand`, with a moment in it."""
    moment = {"valid_from_0": "2026-04-01", "valid_from_1": "09:00:00"}
    return {"brand": brand, "kind": "terms", "version": 1, "language": "en", "text": "Be nice.", **moment}


def test_a_new_rows_moments_are_in_the_zone_of_the_brand_that_is_chosen_at_last(two_zones: tuple[Brand, Brand]) -> None:
    here, there = two_zones
    client, form = browser(staff(here, there)), address("brands.legaltext", "add")

    refused = client.post(form, new_text(here.pk) | {"text": ""})
    saved = client.post(form, new_text(there.pk))

    assert list(errors(refused)) == ["text"]
    assert "Time (the brand's time zone)</label>" in text(refused)
    assert "Asia/Kolkata" not in text(refused)
    assert saved.status_code == 302
    assert LegalText.objects.get(text="Be nice.").valid_from == datetime(2026, 4, 1, 13, tzinfo=UTC)


def test_no_address_makes_the_hidden_brand_another_one(brand: Brand) -> None:
    client, its = browser(staff(brand)), address("authcodes.product", "add")

    form = client.get(its, {"brand": factories.brand().pk}).context["adminform"].form

    assert form["brand"].value() == brand.pk


def test_a_form_that_knows_no_brand_yet_suggests_no_moment(two_zones: tuple[Brand, Brand]) -> None:
    here, there = two_zones
    client, form = browser(staff(here, there)), address("brands.legaltext", "add")

    unknown, known = (client.get(form, query).context["adminform"].form for query in ({}, {"brand": here.pk}))

    assert unknown["valid_from"].value() is None
    assert known["valid_from"].value() is not None


def test_a_new_row_of_the_only_brand_is_in_its_zone_whatever_else_one_sees(two_zones: tuple[Brand, Brand]) -> None:
    here, there = two_zones
    person = staff(here)
    StaffRole.objects.create(user=person, brand=there, role="manager")  # who reads legal texts and adds none
    client, form = browser(person), address("brands.legaltext", "add")

    shown = client.get(form)
    client.post(form, new_text(here.pk))

    assert "Time <bdi>(Asia/Kolkata)</bdi></label>" in text(shown)
    assert LegalText.objects.get(text="Be nice.").valid_from == datetime(2026, 4, 1, 3, 30, tzinfo=UTC)


def test_a_brand_is_asked_for_where_there_are_several(two_zones: tuple[Brand, Brand]) -> None:
    here, there = two_zones
    form = address("authcodes.product", "add")

    of_one, of_two = (browser(person).get(form) for person in (staff(here), staff(here, there)))

    assert f'<input type="hidden" name="brand" value="{here.pk}"' in text(of_one)
    assert "Brand<" not in text(of_one)
    assert '<select name="brand"' in text(of_two)


def test_a_form_names_no_zone_while_it_depends_on_the_brand_that_is_chosen() -> None:
    person = staff(factories.brand(time_zone="Asia/Kolkata"), factories.brand(time_zone="America/New_York"))

    shown = browser(person).get(f"{address('campaigns.campaign', 'add')}?form=all")

    assert text(shown).count("Time (the brand's time zone)</label>") == 2
