"""The consistency checks: every kind of difference is detected, and consistent data has none."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from authcodes.scanning import consistency, scan
from authcodes.scanning.types import ScanContext
from campaigns.models.campaigns import UserLoyaltyCampaign
from events import worker
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from tests.support import factories

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def credited_customer():
    """A customer who earned points for scans of two products."""
    brand = factories.brand()
    factories.level(brand)
    factories.milestone(factories.campaign(brand), 1, reward_points=5)
    customer = factories.customer(brand)
    for code in factories.batch(brand, quantity=2).codes.all():
        scan.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    worker.drain()
    return customer


def failed_checks():
    return sorted({difference.check for difference in consistency.differences()})


def test_consistent_data_has_no_differences(credited_customer, capsys):
    call_command("check_ledger")

    assert "agree" in capsys.readouterr().out
    assert UserPoints.objects.get().points == 25


def test_points_without_a_ledger_entry_are_detected(credited_customer):
    UserPoints.objects.update(points=99, points_earned=99)

    assert failed_checks() == ["account does not equal its ledger lines"]


def test_missing_ledger_entry_is_detected_by_every_related_check(credited_customer):
    with connection.as_owner(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE loyalty_transaction DISABLE TRIGGER ledger_is_append_only")
        cursor.execute("DELETE FROM loyalty_transaction WHERE reason_id LIKE 'T%'")
        cursor.execute("ALTER TABLE loyalty_transaction ENABLE TRIGGER ledger_is_append_only")

    assert failed_checks() == [
        "account does not equal its ledger lines",
        "event is done but its ledger line is missing",
        "scan's points are not those of its ledger line",
    ]


def test_ledger_entry_of_another_brand_than_its_account_is_detected(credited_customer):
    account = UserPoints.objects.get()
    LoyaltyTransaction.objects.create(
        user_point=account, brand=factories.brand(), points_earned=0, reason="earned", reason_id="other"
    )

    assert failed_checks() == ["ledger line is not its account's brand's"]


def test_lost_notification_is_detected(credited_customer):
    Event.objects.filter(detail_type="notify").first().delete()

    assert failed_checks() == ["event is done but did not publish balance-changed and notify once each"]


def test_progress_without_actions_is_detected(credited_customer):
    UserLoyaltyCampaign.objects.update(progress=9)

    assert failed_checks() == ["progress is not the number of actions that advanced it"]


def test_progress_that_ends_at_the_goal_is_consistent(api, brand, customer, deliver_events):
    factories.campaign(brand, target_value=2)
    for _ in range(4):
        api.as_customer(customer).verify(factories.code(brand))
    deliver_events()

    assert UserLoyaltyCampaign.objects.get().progress == 2
    assert failed_checks() == []

    UserLoyaltyCampaign.objects.update(progress=1)
    assert failed_checks() == ["progress is not the number of actions that advanced it"]


def test_reward_without_its_milestone_is_detected(credited_customer):
    UserLoyaltyCampaign.objects.update(milestones_achieved=[])

    assert failed_checks() == ["reward was given but its milestone is not achieved"]


def test_scan_count_that_differs_from_the_scans_is_detected(credited_customer):
    AuthCode.objects.update(scan_count=5)

    assert failed_checks() == [
        "code was scanned more often than its batch allows",
        "code's scan count is not its number of accepted scans",
    ]


def test_awarded_points_that_differ_from_the_ledger_are_detected(credited_customer):
    Scan.objects.update(points_awarded=11)

    assert failed_checks() == ["scan's points are not those of its ledger line"]


def test_the_command_fails_and_names_the_difference(credited_customer, capsys):
    UserPoints.objects.update(points=99, points_earned=99)

    with pytest.raises(CommandError, match="1 differences"):
        call_command("check_ledger")

    assert "expected earned 25.00" in capsys.readouterr().out
