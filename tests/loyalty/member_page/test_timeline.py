"""The timeline on a member's page: everything that happened, newest first, for staff who may see it."""

import re
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from django.core import signing
from django.db import connection
from django.utils import timezone

from brands.audit_log import AuditContext
from campaigns.models.campaigns import RewardClaim
from core.db import sql
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.levels import BrandLevel, LevelChange
from loyalty.models.notifications import Notification, NotificationDelivery
from loyalty.models.programme.referrals import Referral
from loyalty.models.wallets import WalletPass
from loyalty.points import adjustments
from portal.timeline import reading
from portal.timeline.sources import sources
from tests.support import factories
from tests.support.portal import address, browser, scan, staff, text

pytestmark = pytest.mark.django_db
MEMBERS = "loyalty.userpoints"


def page_of(member: Any) -> str:
    return address(MEMBERS, "change", member.pk)


@pytest.fixture
def member(brand, customer):
    return factories.account(customer, brand)


def create_one_of_each_kind(brand, customer, member):
    """A row of every kind, the oldest first."""
    factories.points(customer, brand, 50, reason_id="order:7")
    scan(factories.code(brand), user=customer, location="Pune")
    factories.redemption(customer, factories.reward(brand, name="A mug", cost=10))
    RewardClaim.objects.create(
        milestone=factories.milestone(factories.campaign(brand), 1, reward_name="Tea"), user=customer
    )
    LevelChange.objects.create(
        brand=brand, user_point=member, level_before="", level_after="Silver", reason="reached", points=50
    )
    notification = Notification.objects.create(brand=brand, user=customer, template="NOTIFY_CAMPAIGN_SUCCESS")
    NotificationDelivery.objects.create(
        notification=notification,
        brand=brand,
        user=customer,
        template=notification.template,
        channel="email",
        language="en",
        masked_address="x",
        event_id=uuid4(),
    )
    WalletPass.objects.create(account=member, brand=brand, platform="apple", token="t")
    friend = factories.account(factories.customer(brand), brand)
    Referral.objects.create(brand=brand, referrer=member, friend=friend)
    factories.merge(customer, factories.customer(brand), brand)
    adjustments.adjust(
        account=member,
        points=Decimal(-4),
        key=uuid4(),
        audit_context=AuditContext(staff(brand, first_name="Grace", last_name="Hopper"), timezone.now(), "", "Slip"),
    )


def test_timeline_has_every_kind_and_a_chip_for_each(brand, customer, member):
    create_one_of_each_kind(brand, customer, member)
    client = browser(staff(brand))

    page = client.get(page_of(member))
    icons = {line.icon for line in page.context["lines"]}

    assert icons >= {"toll", "qr_code_scanner", "confirmation_number", "emoji_events", "military_tech", "mail"}
    assert icons >= {"wallet", "group_add", "merge", "badge"}
    assert next(chip.title for chip in page.context["chips"]) == "All"
    for source in sources().values():
        filtered = client.get(page_of(member), {"kind": source.name}).context
        assert filtered["lines"], source.name
        assert [chip.title for chip in filtered["chips"] if chip.is_chosen] == [str(source.title)]


def test_adjustment_is_one_line_with_author_reason_and_balance(brand, customer, member):
    create_one_of_each_kind(brand, customer, member)

    lines = browser(staff(brand)).get(page_of(member)).context["lines"]

    [adjusted] = [line for line in lines if line.points == "-4 points"]
    assert adjusted.balance == "36"
    assert "by Grace Hopper" in adjusted.details
    assert "Slip" in adjusted.details
    assert [line for line in lines if "Slip" in (line.title, *line.details)] == [adjusted]


def test_internal_reason_id_is_not_displayed(brand, customer, member):
    factories.points(customer, brand, 50, reason_id="order:7")

    [line] = [each for each in browser(staff(brand)).get(page_of(member)).context["lines"] if each.icon == "toll"]

    assert line.title == "For you"
    assert "order:7" not in line.details


def test_redemption_and_its_cost_are_one_line(brand, customer, member):
    create_one_of_each_kind(brand, customer, member)

    lines = browser(staff(brand)).get(page_of(member)).context["lines"]

    [redemption_line] = [line for line in lines if line.title == "A mug"]
    assert (redemption_line.points, redemption_line.balance, redemption_line.icon) == (
        "-10 points",
        "40",
        "confirmation_number",
    )
    assert any("••••" in detail for detail in redemption_line.details)


def test_scan_explains_why_it_earned_nothing(brand, customer, member):
    now = timezone.now()
    code = factories.code(brand, scan_limit=5)
    scan(code, user=factories.customer(brand), scanned_at=now - timedelta(days=20))
    type(code).objects.filter(pk=code.pk).update(first_scan_at=now - timedelta(days=20), scan_count=1)
    scan(code, user=customer, points_status="already_claimed", scan_count=2)
    own_code = factories.code(brand, scan_limit=5)
    scan(own_code, user=customer, scanned_at=now - timedelta(days=9), points_status="pending")
    type(own_code).objects.filter(pk=own_code.pk).update(first_scan_at=now - timedelta(days=9), scan_count=1)
    scan(own_code, user=customer, points_status="already_claimed", scan_count=2)
    scan(factories.code(brand), user=customer, outcome="warning", reason="recalled", points_status="not_eligible")
    scan(factories.code(brand), user=customer, points_status="limited")

    page = text(browser(staff(brand)).get(page_of(member)))

    day = (now - timedelta(days=20)).astimezone(brand.zone)
    assert f"somebody else scanned the code first, on {day.day} {day:%b %Y}" in page
    assert "this customer scanned the code before, first on" in page
    assert "no points: Batch recalled" in page
    assert "no points: Point limit reached" in page


def test_scan_and_the_points_it_earned_are_one_line(brand, customer, member):
    code = factories.code(brand)
    scan(code, user=customer, location="Pune", points_status="awarded", points_awarded=10)
    factories.points(customer, brand, 10, reason_id=code.code)

    [line] = browser(staff(brand)).get(page_of(member)).context["lines"]

    assert line.title == f"Scan of {code.code}"
    assert (line.points, line.balance) == ("10 points", "10")
    assert "Pune" in line.details
    assert "earned 10 points" in line.details


def test_older_pages_show_every_line_once_in_ledger_order(brand, customer, member, monkeypatch):
    """Also if a later entry has an earlier time, or if new entries are added between two pages."""
    monkeypatch.setattr(reading, "PER_PAGE", 4)
    now = timezone.now()
    for number in range(15):
        skew = timedelta(minutes=90 if number % 3 == 0 else 0)
        factories.points(
            customer, brand, number + 1, reason_id=f"shop:{number}", at=now - timedelta(hours=20 - number) - skew
        )
        scan(factories.code(brand), user=customer, scanned_at=now - timedelta(hours=20 - number, minutes=5))
    client = browser(staff(brand))

    first = client.get(page_of(member)).context
    factories.points(customer, brand, 1000, reason_id="shop:later")
    pages = [first["lines"]]
    older = first["older"]
    while older:
        context = client.get(page_of(member) + older).context
        pages.append(context["lines"])
        older = context["older"]

    lines = [line for page in pages for line in page]
    entries = [line for line in lines if line.points]
    assert [line.points for line in entries] == [f"{n} point{'s' if n > 1 else ''}" for n in range(15, 0, -1)]
    assert [int(line.balance) for line in entries] == [sum(range(1, n + 1)) for n in range(15, 0, -1)]
    assert len([line for line in lines if line.icon == "qr_code_scanner"]) == 15
    assert all(len(page) == 4 for page in pages[:-1])


def test_oldest_page_ends_with_the_date_of_joining(brand, customer, member, monkeypatch):
    monkeypatch.setattr(reading, "PER_PAGE", 2)
    for number in range(3):
        factories.points(customer, brand, 1, reason_id=f"shop:{number}")
    client = browser(staff(brand))
    first = client.get(page_of(member))
    last = client.get(page_of(member) + first.context["older"])

    def ends_with_joining(page: Any) -> bool:
        return bool(
            re.search(r"person_add</span>\s*<div class=\"member-detail\"><p class=\"member-strong\">Joined", text(page))
        )

    assert (ends_with_joining(first), ends_with_joining(last)) == (False, True)
    assert "Back to the newest" in text(last)


@pytest.mark.parametrize(
    "forge",
    [lambda: "x", lambda: "a:b:c", lambda: signing.dumps(["1"], salt="another")],
    ids=["word", "three words", "signed elsewhere"],
)
def test_forged_position_shows_the_newest_lines(brand, customer, member, forge):
    factories.points(customer, brand, 5)
    client = browser(staff(brand))

    answer = client.get(page_of(member), {"older": forge()})

    assert (answer.status_code, len(answer.context["lines"]), answer.context["is_first"]) == (200, 1, True)


def test_position_of_one_member_is_invalid_for_another(brand, customer, member, monkeypatch):
    monkeypatch.setattr(reading, "PER_PAGE", 1)
    other = factories.customer(brand)
    for each in (customer, other):
        for number in range(3):
            factories.points(each, brand, 1, reason_id=f"shop:{number}")
    client = browser(staff(brand))
    older = client.get(page_of(member)).context["older"]

    page = client.get(page_of(factories.account(other, brand)) + older)

    assert page.context["is_first"]


def test_timeline_omits_lists_that_the_role_cannot_see(brand, customer, member, monkeypatch):
    create_one_of_each_kind(brand, customer, member)
    support = browser(staff(brand, role="support"))

    page = support.get(page_of(member))
    filtered = support.get(page_of(member), {"kind": "staff"})

    owners_page = browser(staff(brand)).get(page_of(member), {"kind": "staff"})

    assert "Staff" in [chip.title for chip in owners_page.context["chips"]]
    assert "badge" in {line.icon for line in owners_page.context["lines"]}
    assert "Staff" not in [chip.title for chip in page.context["chips"]]
    assert "badge" not in {line.icon for line in (*page.context["lines"], *filtered.context["lines"])}
    assert browser(staff(brand, role="printer")).get(page_of(member)).status_code in {403, 404}


def test_timeline_omits_activity_at_other_brands(brand, customer, member):
    other_brand = factories.brand()
    account = factories.account(customer, brand)
    other_customer = factories.customer(other_brand)
    other_member = factories.account(other_customer, other_brand)
    type(other_member).objects.filter(pk=other_member.pk).update(user=customer)
    create_one_of_each_kind(other_brand, customer, factories.account(customer, other_brand))
    scan(factories.code(other_brand), user=customer, location="Elsewhere")

    page = browser(staff(brand)).get(page_of(account))

    assert page.context["lines"] == []
    assert "Elsewhere" not in text(page)
    assert "Nothing else has happened yet" in text(page)


def test_timeline_of_a_merged_member_contains_both_accounts(brand, customer, member):
    other = factories.customer(brand)
    factories.points(other, brand, 7, reason_id="shop:other")
    factories.points(customer, brand, 5, reason_id="shop:own")
    factories.merge(customer, other, brand)

    lines = browser(staff(brand)).get(page_of(member), {"kind": "points"}).context["lines"]

    assert {"shop:other", "shop:own"} <= {detail for line in lines for detail in line.details}
    assert next(line.balance for line in lines) == "12"


def test_balance_chart_has_its_months_in_a_table(brand, customer, member):
    now = timezone.now()
    for days, points in ((70, 10), (40, 20), (1, 30)):
        factories.points(customer, brand, points, at=now - timedelta(days=days))

    chart = browser(staff(brand)).get(page_of(member)).context["chart"]

    assert (chart.highest, chart.note) == ("60", "")
    assert next((row.earned, row.balance) for row in chart.months) == ("30", "60")
    assert chart.line.split()[0].endswith(",116.7")
    assert chart.line.split()[-1] == "600.0,0.0"


def test_level_ring_shows_points_missing_to_the_next_level(brand, customer, member):
    BrandLevel.objects.filter(brand=brand).delete()
    factories.level(brand, "Bronze", 0)
    factories.level(brand, "Silver", 200)
    factories.points(customer, brand, 50)
    client = browser(staff(brand))

    ring = client.get(page_of(member)).context["header"].ring
    assert (ring.filled, ring.missing) == (25, "150 points to Silver")

    factories.points(customer, brand, 250)
    ring = client.get(page_of(member)).context["header"].ring
    assert (ring.filled, ring.missing) == (100, "the highest level")


def test_pending_entries_do_not_change_the_balance(brand, customer, member):
    factories.points(customer, brand, 5)
    LoyaltyTransaction.objects.create(user_point=member, points_pending=9, reason="pending", reason_id="order:1")

    lines = browser(staff(brand)).get(page_of(member)).context["lines"]

    assert [(line.points, line.balance) for line in lines] == [("9 points", "5"), ("5 points", "5")]


@pytest.mark.parametrize(
    "index",
    [
        "ledger_newest_first",
        "scan_of_customer",
        "redemptions_of_a_member",
        "claims_of_customer",
        "level_changes_of_member",
        "delivery_to_customer",
        "referrals_of_member",
        "audit_of_a_row",
    ],
)
def test_timeline_query_uses_an_index_for_each_growing_table(db, index):
    with connection.cursor() as cursor:
        for setting in ("enable_seqscan", "enable_bitmapscan", "enable_sort"):
            cursor.execute(f"SET LOCAL {setting} = off")
        cursor.execute(f"EXPLAIN (GENERIC_PLAN) {sql.numbered(reading.statement().text)[0].decode()}")
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert f"using {index} " in plan
