"""The proof that the books agree: it finds each kind of difference, and finds none where there is none."""

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
def credited():
    """A brand whose customer scanned two products."""
    brand = factories.brand()
    factories.level(brand)
    factories.milestone(factories.campaign(brand), 1, reward_points=5)
    customer = factories.customer(brand)
    for code in factories.batch(brand, quantity=2).codes.all():
        scan.scan(scanned=code.code, context=ScanContext(at=timezone.now(), user_id=customer.pk))
    worker.drain()
    return customer


def found():
    return sorted({difference.check for difference in consistency.differences()})


def test_books_that_agree_show_no_difference(credited, capsys):
    call_command("check_ledger")

    assert "agree" in capsys.readouterr().out
    assert UserPoints.objects.get().points == 25


def test_points_without_a_line_are_found(credited):
    UserPoints.objects.update(points=99, points_earned=99)

    assert found() == ["account does not equal its ledger lines"]


def test_a_missing_line_is_found_everywhere_it_is_missed(credited):
    with connection.as_owner(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE loyalty_transaction DISABLE TRIGGER ledger_is_append_only")
        cursor.execute("DELETE FROM loyalty_transaction WHERE reason_id LIKE 'T%'")
        cursor.execute("ALTER TABLE loyalty_transaction ENABLE TRIGGER ledger_is_append_only")

    assert found() == [
        "account does not equal its ledger lines",
        "event is done but its ledger line is missing",
        "scan's points are not those of its ledger line",
    ]


def test_a_line_of_another_brand_than_its_account_is_found(credited):
    account = UserPoints.objects.get()
    LoyaltyTransaction.objects.create(
        user_point=account, brand=factories.brand(), points_earned=0, reason="earned", reason_id="other"
    )

    assert found() == ["ledger line is not its account's brand's"]


def test_a_lost_notification_is_found(credited):
    Event.objects.filter(detail_type="notify").first().delete()

    assert found() == ["event is done but did not publish balance-changed and notify once each"]


def test_progress_that_nobody_made_is_found(credited):
    UserLoyaltyCampaign.objects.update(progress=9)

    assert found() == ["progress is not the number of actions that advanced it"]


def test_progress_that_stops_at_the_goal_is_no_difference(api, brand, customer, deliver):
    factories.campaign(brand, target_value=2)
    for _ in range(4):
        api.as_customer(customer).verify(factories.code(brand))
    deliver()

    assert UserLoyaltyCampaign.objects.get().progress == 2
    assert found() == []

    UserLoyaltyCampaign.objects.update(progress=1)
    assert found() == ["progress is not the number of actions that advanced it"]


def test_a_reward_without_its_milestone_is_found(credited):
    UserLoyaltyCampaign.objects.update(milestones_achieved=[])

    assert found() == ["reward was given but its milestone is not achieved"]


def test_a_count_that_differs_from_the_scans_is_found(credited):
    AuthCode.objects.update(scan_count=5)

    assert found() == [
        "code was scanned more often than its batch allows",
        "code's scan count is not its number of accepted scans",
    ]


def test_an_award_that_the_ledger_does_not_know_is_found(credited):
    Scan.objects.update(points_awarded=11)

    assert found() == ["scan's points are not those of its ledger line"]


def test_the_command_fails_and_names_the_difference(credited, capsys):
    UserPoints.objects.update(points=99, points_earned=99)

    with pytest.raises(CommandError, match="1 differences"):
        call_command("check_ledger")

    assert "expected earned 25.00" in capsys.readouterr().out
