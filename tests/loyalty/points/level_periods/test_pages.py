"""Where levels that end are set and seen: the portal, the customer API, the brand API, wallet cards, notifications."""

from datetime import date, timedelta
from html import unescape

import pytest
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from events import worker
from loyalty.models.levels import BrandLevel
from loyalty.models.notifications import Notification, NotificationSettings
from loyalty.models.wallets import WalletPass
from loyalty.notifications import catalogue
from loyalty.points.level_periods.ends import level_end
from loyalty.points.levels import levels_of
from loyalty.wallets import cards
from tests.loyalty.points.level_periods.conftest import on
from tests.support.portal import address, browser, staff

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(programme):
    return programme(level_period="lifetime")


@pytest.fixture
def page(world):
    """`page(**fields)`: the answer to the form of a brand's owner."""
    client = browser(staff(world.brand))
    usual = {
        "brand": world.brand.pk,
        "level_period": "year",
        "level_period_months": 12,
        "level_grace_days": 14,
        "level_warning_days": 30,
        "reason": "",
    }

    def sent(**fields):
        return client.post(address("loyalty.brandlevel", "periods"), {**usual, **fields})

    return sent


def text(answer):
    return unescape(answer.content.decode())


def test_a_preview_says_how_many_would_fall_and_saves_nothing(world, page):
    last_year = timezone.now().replace(year=timezone.now().year - 1, month=6)
    enough, too_few = world.member(), world.member()
    world.earn(enough, 150, last_year)
    world.earn(too_few, 90, last_year)
    world.earn(too_few, 90, last_year.replace(year=last_year.year - 1))

    answer = text(page(preview="1"))

    assert "Members above the lowest level: 2. With too few points" in answer
    assert "to keep their level: 1. These members would have fallen." in answer
    assert "Silver: 1 of 2 would have fallen" in answer
    assert f"nobody falls before 15 Jan {timezone.now().year + 2}." in answer
    world.brand.refresh_from_db()
    assert world.brand.level_period == "lifetime"


def test_saving_asks_why_and_is_audited(world, page):
    assert "This field is required." in text(page(save="1"))
    world.brand.refresh_from_db()
    assert world.brand.level_period == "lifetime"

    assert page(save="1", reason="New programme").status_code == 302

    world.brand.refresh_from_db()
    assert (world.brand.level_period, world.brand.level_grace_days) == ("year", 14)
    entry = AuditLogEntry.objects.latest("pk")
    assert (entry.reason, entry.changes["level_period"]) == ("New programme", ["lifetime", "year"])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"level_period": "quarter", "level_grace_days": 90}, "Enter at most 89 days"),
        ({"level_period": "rolling", "level_period_months": 1, "level_warning_days": 28}, "Enter at most 27 days"),
        ({"level_period": "rolling", "level_period_months": 0}, "greater than or equal to 1"),
        ({"level_period": "rolling", "level_period_months": 61}, "less than or equal to 60"),
        ({"level_period": "fortnight"}, "Select a valid choice"),
        ({"level_grace_days": "-1"}, "greater than or equal to 0"),
        ({"level_grace_days": "ten"}, "Enter a whole number"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_to_do(world, page, fields, message):
    answer = page(save="1", reason="Why not", **fields)

    assert (answer.status_code, message in text(answer)) == (200, True)
    world.brand.refresh_from_db()
    assert world.brand.level_period == "lifetime"


def test_back_to_levels_for_good(world, page):
    world.set(level_period="year")

    assert "No level ends." in text(page(level_period="lifetime", preview="1"))
    page(level_period="lifetime", save="1", reason="As before")

    world.brand.refresh_from_db()
    assert world.brand.level_period == "lifetime"


@pytest.mark.parametrize("role", ["manager", "support", "printer"])
def test_only_who_may_change_the_brand_may_change_it(world, role):
    client = browser(staff(world.brand, role=role))

    assert client.get(address("loyalty.brandlevel", "periods")).status_code in {302, 403}


def test_another_brands_levels_cannot_be_changed(world, programme, page):
    other = programme(level_period="lifetime")

    answer = page(brand=other.brand.pk, save="1", reason="Mine")

    other.brand.refresh_from_db()
    assert (answer.status_code, other.brand.level_period) == (200, "lifetime")


def test_the_members_page_says_until_when_and_what_is_missing(programme):
    world = programme(level_period="rolling", level_period_months=12)
    member = world.member()
    world.earn(member, 120, timezone.now() - timedelta(days=40))
    world.earn(member, 30, timezone.now())
    client = browser(staff(world.brand, role="support"))

    answer = text(client.get(address("loyalty.userpoints", "change", member.pk)))

    assert "to keep it longer: 70 points more; 150 points since" in answer
    assert "Bronze > Silver" in answer
    assert "Bronze" in text(client.get(address("loyalty.levelchange")))


# --- The API ---------------------------------------------------------------------------------------------------------


def test_the_customer_reads_until_when_and_what_every_level_gives(programme, api):
    world = programme(level_period="rolling", level_period_months=12, level_grace_days=5)
    BrandLevel.objects.filter(brand=world.brand, name="Silver").update(
        benefits="Free shipping\n Early access \n", translations={"de": {"benefits": "Versand frei", "name": "Silber"}}
    )
    member = world.member()
    reached = timezone.now() - timedelta(days=40)
    world.earn(member, 120, reached)
    world.earn(member, 30, timezone.now())
    body = api.as_customer(member.user, of=world.brand).get("customer/loyalty/points").json()["data"]

    until = member.level_until
    assert body["level_end"] == {
        "period": "rolling",
        "months": 12,
        "points": 150,
        "first": member.period_from.isoformat(),
        "last": None,
        "level_until": until.isoformat(),
        "grace_until": (until + timedelta(days=5)).isoformat(),
        "missing": 70,
    }
    assert body["next_level"] == {"name": "Gold", "threshold": 500, "missing": 350, "points": 150}
    assert body["levels"][1] == {"name": "Silver", "threshold": 100, "benefits": ["Free shipping", "Early access"]}


def test_what_is_missing_is_not_asked_before_its_period_and_not_when_it_is_kept(programme):
    world = programme()
    member = world.member()

    def end(at):
        member.refresh_from_db()
        return level_end(brand=world.brand, account=member, ladder=levels_of(world.brand), at=at)

    assert end(on("2026-03-01")).level_until is None
    world.earn(member, 120, on("2026-03-01"))
    assert (end(on("2026-03-02")).level_until, end(on("2026-03-02")).missing) == (date(2027, 12, 31), None)
    world.earn(member, 20, on("2027-03-01"))
    assert (end(on("2027-03-02")).level_until, end(on("2027-03-02")).missing) == (date(2027, 12, 31), 80)
    world.earn(member, 80, on("2027-04-01"))
    assert (end(on("2027-04-02")).level_until, end(on("2027-04-02")).missing) == (date(2028, 12, 31), 0)


# --- Cards and notifications -----------------------------------------------------------------------------------------


def test_the_card_says_until_when_and_counts_the_period(programme):
    world = programme()
    member = world.member()
    world.earn(member, 90, on("2026-03-01"))
    world.earn(member, 120, on("2027-03-01"))
    card = cards.card_of(WalletPass(account=member, brand=world.brand))

    assert (card.level_until, card.missing) == (date(2028, 12, 31), 380)
    assert card.level_until_text("de") == "31. Dezember 2028"
    world.set(level_period="lifetime")
    assert cards.card_of(WalletPass(account=member, brand=world.brand)).level_until_text("de") == ""


@pytest.mark.parametrize("language", ["en", "de", "ar"])
@pytest.mark.parametrize("template", ["NOTIFY_LEVEL_ENDING", "NOTIFY_LEVEL_LOWERED"])
def test_the_texts_name_what_a_member_must_know(template, language):
    needed = {"NOTIFY_LEVEL_ENDING": ["level_name", "points_missing", "level_until"]}
    for channel in ("email", "sms", "push"):
        shipped = catalogue.shipped(template, channel, language)
        both = shipped.subject + shipped.body
        for name in needed.get(template, ["level_before", "level_name"]):
            assert f"{{{name}}}" in both, (channel, name)


def test_the_warning_becomes_a_notification_of_the_topic_points(programme):
    world = programme(level_warning_days=30)
    NotificationSettings.objects.create(brand=world.brand, is_active=True)
    member = world.member()
    world.earn(member, 120, on("2026-03-01"))
    world.night(on("2027-12-05"))

    worker.drain_slow(lane="notices")

    notification = Notification.objects.get(brand=world.brand, template="NOTIFY_LEVEL_ENDING")
    assert notification.user_id == member.user_id
    assert notification.payload["points_missing"] == 100
    assert catalogue.KINDS["NOTIFY_LEVEL_ENDING"].topic == "points"
