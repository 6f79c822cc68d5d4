"""The brand field of a form for a new row, and the time zone of the form's times."""

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
def brands_in_two_zones() -> tuple[Brand, Brand]:
    return factories.brand(time_zone="Asia/Kolkata"), factories.brand(time_zone="America/New_York")


def legal_text_data(brand: Any) -> dict[str, Any]:
    """Form data of a legal text of `brand`, including a date and a time."""
    moment = {"valid_from_0": "2026-04-01", "valid_from_1": "09:00:00"}
    return {"brand": brand, "kind": "terms", "version": 1, "language": "en", "text": "Be nice.", **moment}


def test_times_of_a_new_row_are_in_the_zone_of_the_submitted_brand(brands_in_two_zones: tuple[Brand, Brand]) -> None:
    first_brand, second_brand = brands_in_two_zones
    client, add_url = browser(staff(first_brand, second_brand)), address("brands.legaltext", "add")

    rejected = client.post(add_url, legal_text_data(first_brand.pk) | {"text": ""})
    saved = client.post(add_url, legal_text_data(second_brand.pk))

    assert list(errors(rejected)) == ["text"]
    assert "Time (the brand's time zone)</label>" in text(rejected)
    assert "Asia/Kolkata" not in text(rejected)
    assert saved.status_code == 302
    assert LegalText.objects.get(text="Be nice.").valid_from == datetime(2026, 4, 1, 13, tzinfo=UTC)


def test_query_parameter_does_not_change_the_hidden_brand(brand: Brand) -> None:
    client, add_url = browser(staff(brand)), address("authcodes.product", "add")

    form = client.get(add_url, {"brand": factories.brand().pk}).context["adminform"].form

    assert form["brand"].value() == brand.pk


def test_form_without_a_brand_suggests_no_time(brands_in_two_zones: tuple[Brand, Brand]) -> None:
    first_brand, second_brand = brands_in_two_zones
    client, add_url = browser(staff(first_brand, second_brand)), address("brands.legaltext", "add")

    without_brand, with_brand = (
        client.get(add_url, query).context["adminform"].form for query in ({}, {"brand": first_brand.pk})
    )

    assert without_brand["valid_from"].value() is None
    assert with_brand["valid_from"].value() is not None


def test_times_are_in_the_zone_of_the_only_brand_where_the_user_may_add(
    brands_in_two_zones: tuple[Brand, Brand],
) -> None:
    first_brand, second_brand = brands_in_two_zones
    user = staff(first_brand)
    StaffRole.objects.create(user=user, brand=second_brand, role="manager")  # may read legal texts but not add them
    client, add_url = browser(user), address("brands.legaltext", "add")

    form_page = client.get(add_url)
    client.post(add_url, legal_text_data(first_brand.pk))

    assert "Time <bdi>(Asia/Kolkata)</bdi></label>" in text(form_page)
    assert LegalText.objects.get(text="Be nice.").valid_from == datetime(2026, 4, 1, 3, 30, tzinfo=UTC)


def test_brand_field_is_visible_only_with_several_brands(brands_in_two_zones: tuple[Brand, Brand]) -> None:
    first_brand, second_brand = brands_in_two_zones
    add_url = address("authcodes.product", "add")

    page_for_one_brand, page_for_two_brands = (
        browser(user).get(add_url) for user in (staff(first_brand), staff(first_brand, second_brand))
    )

    assert f'<input type="hidden" name="brand" value="{first_brand.pk}"' in text(page_for_one_brand)
    assert "Brand<" not in text(page_for_one_brand)
    assert '<select name="brand"' in text(page_for_two_brands)


def test_form_names_no_zone_while_the_brand_is_open() -> None:
    user = staff(factories.brand(time_zone="Asia/Kolkata"), factories.brand(time_zone="America/New_York"))

    form_page = browser(user).get(f"{address('campaigns.campaign', 'add')}?form=all")

    assert text(form_page).count("Time (the brand's time zone)</label>") == 2
