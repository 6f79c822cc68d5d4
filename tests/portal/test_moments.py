"""Dates and times: their bounds in forms and in the database, and pages that display values outside these bounds."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection, transaction

from brands.models.tenants import Brand
from campaigns.models.campaigns import Campaign
from core import moments
from core.moments import DayField, MomentField
from tests.portal.test_reading_changes_nothing import EXCLUDED_PATHS, portal_paths
from tests.support import factories
from tests.support.api import Api
from tests.support.endpoints import ENDPOINTS, make_scenario
from tests.support.machinery.moment_bounds import FIELDS, checks_of, store_in_all_fields
from tests.support.portal import address, brand_with_one_of_each, browser, errors, staff

NAMES = [f"{field.model._meta.label_lower}.{field.name}" for field in FIELDS]
ALLOWED = ["1970-01-01", "2026-03-01", "2199-12-31"]
REJECTED = ["0001-01-01 BC", "0001-01-01", "1969-12-31", "2200-01-01", "9999-12-31", "infinity", "-infinity"]
# Values beyond both ends of Python's calendar, in time zones that move them further.
EXTREMES = [("0001-01-01 BC", "America/New_York"), ("infinity", "Pacific/Kiritimati")]


def passes(checks: list[str], field: Any, value: str) -> bool:
    with connection.cursor() as cursor:
        kind, column = field.db_type(connection), connection.ops.quote_name(field.column)
        condition = " AND ".join(checks or ["true"])
        cursor.execute(f"SELECT {condition} FROM (SELECT %s::{kind} AS {column}) AS given", [value])
        return bool(cursor.fetchone()[0])


@pytest.mark.django_db
@pytest.mark.parametrize("field", FIELDS, ids=NAMES)
def test_every_date_and_time_is_bounded_in_python_and_in_the_database(field: Any) -> None:
    assert isinstance(field, MomentField | DayField)
    checks = [condition for _name, condition, columns in checks_of(field) if columns == 1]
    assert [value for value in ALLOWED + REJECTED if passes(checks, field, value)] == ALLOWED


@pytest.mark.parametrize("field", FIELDS, ids=NAMES)
def test_forms_and_validators_have_the_same_bounds_as_the_database(field: Any) -> None:
    inner = [date(1970, 1, 1), date(2199, 12, 31)]
    outer = [date(1, 1, 1), date(1969, 12, 31), date(2200, 1, 1), date(9999, 12, 31)]

    def as_stored(day: date) -> date:
        return day if isinstance(field, DayField) else datetime(day.year, day.month, day.day, tzinfo=UTC)

    for day in inner:
        field.run_validators(as_stored(day))
    for day in outer:
        with pytest.raises(ValidationError, match="Enter a date from 1970 to 2199"):
            field.run_validators(as_stored(day))
    assert moments.check in field.formfield().validators


def test_database_rejects_times_outside_the_bounds(brand: Brand) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        factories.campaign(brand, starts_at=moments.FIRST_MOMENT - timedelta(seconds=1))
    with pytest.raises(IntegrityError), transaction.atomic():
        factories.campaign(brand, ends_at=moments.LAST_MOMENT + timedelta(seconds=1))


@pytest.mark.django_db
@pytest.mark.parametrize(("value", "time_zone"), EXTREMES)
def test_every_portal_page_works_with_any_stored_date_or_time(value: str, time_zone: str) -> None:
    brand, rows = brand_with_one_of_each("aardvark")
    Brand.objects.filter(pk=brand.pk).update(time_zone=time_zone)
    client = browser(staff(brand))
    assert store_in_all_fields(value, except_for=["staff_login.staffsession"]) > 40
    ok_count = 0
    for path in portal_paths(rows):
        if path not in EXCLUDED_PATHS:
            with transaction.atomic():
                response = client.get(path)
            assert response.status_code < 500, path
            ok_count += response.status_code == 200
    assert ok_count > 100


@pytest.mark.django_db
@pytest.mark.parametrize(("value", "time_zone"), EXTREMES)
def test_every_api_read_works_with_any_stored_date_or_time(api: Api, value: str, time_zone: str) -> None:
    Brand.objects.filter(pk=api.brand.pk).update(time_zone=time_zone)
    scenario = make_scenario(api)
    scenario.call("verify_product")
    store_in_all_fields(value, except_for=["brands.apikey", "brands.loginsession"])
    for name, endpoint in ENDPOINTS.items():
        if endpoint.method == "GET":
            with transaction.atomic():
                assert scenario.call(name).status_code < 500, name


def campaign_data(brand: Brand, **dates: str) -> dict[str, object]:
    form_data = {"campaign_name": "Ides", "type": "order", "target_value": "5", "is_active": "on"}
    form_data |= {f"milestones-{name}_FORMS": "0" for name in ("TOTAL", "INITIAL")}
    return {"brand": brand.pk, "starts_at_1": "", "ends_at_1": "", **form_data, **dates}


@pytest.mark.django_db
def test_dates_without_times_are_whole_days_in_the_brands_time_zone(brand: Brand) -> None:
    Brand.objects.filter(pk=brand.pk).update(time_zone="Europe/Berlin")
    form_data = campaign_data(brand, starts_at_0="2026-12-01", ends_at_0="2026-12-31")

    assert browser(staff(brand)).post(address("campaigns.campaign", "add"), form_data).status_code == 302

    campaign = Campaign.objects.get()
    assert campaign.starts_at == datetime(2026, 11, 30, 23, 0, tzinfo=UTC)
    assert campaign.ends_at == datetime(2026, 12, 31, 22, 59, 59, tzinfo=UTC)


@pytest.mark.django_db
def test_wrong_date_format_is_rejected_with_the_expected_format(brand: Brand) -> None:
    client = browser(staff(brand))
    page_html = client.get(f"{address('campaigns.campaign', 'add')}?form=all").content.decode()
    assert all(
        expected_text in page_html
        for expected_text in ('placeholder="YYYY-MM-DD"', 'placeholder="HH:MM"', "23:59:59 is used.")
    )

    form_data = campaign_data(brand, starts_at_1="noon", starts_at_0="2026-12-01", ends_at_0="31/12/2026")
    response = client.post(address("campaigns.campaign", "add"), form_data)

    assert errors(response) == {
        "starts_at": ["Enter the time as HH:MM, such as 18:00."],
        "ends_at": ["Enter the date as YYYY-MM-DD, such as 2026-12-31."],
    }


@pytest.mark.django_db
def test_campaign_dates_outside_the_bounds_are_rejected_at_their_fields(brand: Brand) -> None:
    Brand.objects.filter(pk=brand.pk).update(time_zone="Europe/Berlin")
    client = browser(staff(brand))
    form_data = {"campaign_name": "Ides", "type": "order", "target_value": "5", "is_active": "on"}
    form_data |= {"starts_at_0": "0001-01-01", "starts_at_1": "00:00", "ends_at_0": "9999-12-31", "ends_at_1": "23:59"}
    form_data |= {f"milestones-{name}_FORMS": "0" for name in ("TOTAL", "INITIAL")}
    response = client.post(address("campaigns.campaign", "add"), {"brand": brand.pk, **form_data})
    message = ["Enter a date from 1970 to 2199."]
    assert errors(response) == {"starts_at": message, "ends_at": message}
    assert not Campaign.objects.exists()
