"""Consistency checks of the rollups that Home reads: hours, enrolments and returning customers."""

import random

import pytest
from django.utils import timezone

from authcodes.models.rollups import HourRollup, RollupWatermark
from authcodes.rollups import consistency, rollups
from brands.models.tenants import Brand
from loyalty.models.programme.rollups import EnrolmentRollup, ProgrammeWatermark
from loyalty.programme import consistency as programme_consistency
from loyalty.programme import rollups as programme_rollups
from tests.authcodes.dashboard.dashboards import fill
from tests.loyalty.programme import histories
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def rolled_up() -> Brand:
    brand = factories.brand(time_zone="America/Los_Angeles")
    fill(brand, random.Random(12))
    histories.fill(brand, random.Random(13), now=timezone.now(), entries=80, months=3)
    rollups.catch_up(brand=brand, at=timezone.now())
    programme_rollups.catch_up(brand=brand, at=timezone.now())
    assert list(consistency.differences()) == []
    assert list(programme_consistency.differences()) == []
    return brand


def test_wrong_hours_and_returning_customers_are_reported(rolled_up: Brand) -> None:
    HourRollup.objects.filter(brand=rolled_up).latest("pk").delete()
    RollupWatermark.objects.filter(brand=rolled_up).update(returned=99)

    assert {difference.check for difference in consistency.differences()} == {
        "rollup by hour is not what its scans say",
        "customers who scanned and came back are not those of the closed days",
    }


def test_wrong_enrolments_and_rewards_are_reported(rolled_up: Brand) -> None:
    EnrolmentRollup.objects.filter(brand=rolled_up).latest("pk").delete()
    ProgrammeWatermark.objects.filter(brand=rolled_up).update(rewarded=99)

    assert {difference.check for difference in programme_consistency.differences()} == {
        "members who enrolled on a day are not as many as the accounts say",
        "members with a reward are not as many as the redemptions say",
    }


def test_customers_are_counted_again_after_an_erasure(rolled_up: Brand) -> None:
    rollups.reassign(user_id=1, brand_id=rolled_up.pk, to=2)
    assert RollupWatermark.objects.get(brand=rolled_up).counted_until is None

    rollups.catch_up(brand=rolled_up, at=timezone.now())

    watermark = RollupWatermark.objects.get(brand=rolled_up)
    assert watermark.counted_until == watermark.until
    assert list(consistency.differences()) == []
