"""Level periods in the portal, the customer API, wallet cards and notifications."""

from datetime import date, timedelta
from html import unescape

import pytest
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from events import worker
from loyalty.models.accounts import UserPoints
from loyalty.models.levels import BrandLevel
from loyalty.models.notifications import Notification, NotificationSettings
from loyalty.models.wallets import WalletPass
from loyalty.notifications import catalogue
from loyalty.points.level_periods.level_end import level_end
from loyalty.points.level_periods.preview import LevelPreview, preview
from loyalty.points.level_periods.rules import rule_from
from loyalty.points.levels import levels_of
from loyalty.wallets import cards
from tests.loyalty.merges.conftest import merge_accounts
from tests.loyalty.points.level_periods.conftest import on
from tests.support.portal import address, browser, staff

pytestmark = pytest.mark.django_db


@pytest.fixture
def programme(new_programme):
    return new_programme(level_period="lifetime")


@pytest.fixture
def send_form(programme):
    """`send_form(**fields)`: the response to the owner's form for level periods."""
    client = browser(staff(programme.brand))
    valid = {
        "brand": programme.brand.pk,
        "level_period": "year",
        "level_period_months": 12,
        "level_grace_days": 14,
        "level_warning_days": 30,
        "reason": "",
    }

    def send(**fields):
        return client.post(address("loyalty.brandlevel", "periods"), {**valid, **fields})

    return send


def html_of(response):
    return unescape(response.content.decode())


def test_preview_counts_levels_that_would_be_lowered_and_saves_nothing(programme, send_form):
    last_year = timezone.now().replace(year=timezone.now().year - 1, month=6, day=15)
    loyal_member, lapsing_member = programme.member(), programme.member()
    programme.earn(loyal_member, 150, last_year)
    programme.earn(lapsing_member, 90, last_year)
    programme.earn(lapsing_member, 90, last_year.replace(year=last_year.year - 1))

    html = html_of(send_form(preview="1"))

    assert "Members above the lowest level: 2. With too few points" in html
    assert "to keep their level: 1. These members would have fallen." in html
    assert "Silver: 1 of 2 would have fallen" in html
    assert f"nobody falls before 15 Jan {timezone.now().year + 2}." in html
    programme.brand.refresh_from_db()
    assert programme.brand.level_period == "lifetime"


def test_preview_counts_merged_accounts_as_one_member(programme):
    last_year = timezone.now().replace(year=timezone.now().year - 1, month=6, day=15)
    target = programme.earn(programme.member(), 60, last_year)
    source = programme.earn(programme.member(), 120, last_year.replace(year=last_year.year - 1))
    programme.earn(source, 50, last_year)
    merge_accounts(programme.brand, target.user, source.user)
    rule = rule_from("year", 12, 0, 0, programme.brand.zone)

    result = preview(brand=programme.brand, rule=rule, at=timezone.now())

    assert result.levels == [LevelPreview("Silver", members=1, falling=0)]


def test_saving_requires_a_reason_and_is_audited(programme, send_form):
    assert "This field is required." in html_of(send_form(save="1"))
    programme.brand.refresh_from_db()
    assert programme.brand.level_period == "lifetime"

    assert send_form(save="1", reason="New programme").status_code == 302

    programme.brand.refresh_from_db()
    assert (programme.brand.level_period, programme.brand.level_grace_days) == ("year", 14)
    entry = AuditLogEntry.objects.latest("pk")
    assert (entry.reason, entry.changes["level_period"]) == ("New programme", ["lifetime", "year"])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"level_period": "quarter", "level_grace_days": 90}, "Enter at most 89 days"),
        ({"level_period": "rolling", "level_period_months": 1, "level_warning_days": 28}, "Enter at most 27 days"),
        (
            {"level_period": "rolling", "level_grace_days": 336},
            "Enter at most 335 days: fewer than 28 for each month of the period.",
        ),
        ({"level_period": "rolling", "level_period_months": 0}, "greater than or equal to 1"),
        ({"level_period": "rolling", "level_period_months": 61}, "less than or equal to 60"),
        ({"level_period": "fortnight"}, "Select a valid choice"),
        ({"level_grace_days": "-1"}, "greater than or equal to 0"),
        ({"level_grace_days": "ten"}, "Enter a whole number"),
    ],
)
def test_invalid_settings_are_rejected_with_a_message(programme, send_form, fields, message):
    response = send_form(save="1", reason="Why not", **fields)

    assert (response.status_code, message in html_of(response)) == (200, True)
    programme.brand.refresh_from_db()
    assert programme.brand.level_period == "lifetime"


def test_calendar_periods_need_no_number_of_months(programme, send_form):
    response = send_form(level_period_months="", save="1", reason="Calendar years")

    programme.brand.refresh_from_db()
    assert (response.status_code, programme.brand.level_period, programme.brand.level_period_months) == (
        302,
        "year",
        12,
    )


def test_rolling_periods_need_a_number_of_months(programme, send_form):
    html = html_of(send_form(level_period="rolling", level_period_months="", save="1", reason="Rolling"))

    programme.brand.refresh_from_db()
    assert ("This field is required." in html, programme.brand.level_period) == (True, "lifetime")


def test_level_periods_can_be_switched_off(programme, send_form):
    programme.set(level_period="year")

    assert "No level ends." in html_of(send_form(level_period="lifetime", preview="1"))
    send_form(level_period="lifetime", save="1", reason="As before")

    programme.brand.refresh_from_db()
    assert programme.brand.level_period == "lifetime"


@pytest.mark.parametrize("role", ["manager", "support", "printer"])
def test_only_owners_may_change_level_periods(programme, role):
    client = browser(staff(programme.brand, role=role))

    assert client.get(address("loyalty.brandlevel", "periods")).status_code in {302, 403}


def test_level_periods_of_another_brand_cannot_be_changed(programme, new_programme, send_form):
    other = new_programme(level_period="lifetime")

    response = send_form(brand=other.brand.pk, save="1", reason="Mine")

    other.brand.refresh_from_db()
    assert (response.status_code, other.brand.level_period) == (404, "lifetime")


def test_each_brand_has_a_form_with_its_own_values(programme, new_programme):
    other = new_programme(level_period="quarter", level_grace_days=9)
    client = browser(staff(programme.brand, other.brand))
    page = address("loyalty.brandlevel", "periods")

    html = html_of(client.get(page, {"brand": programme.brand.pk}))
    form = client.get(page, {"brand": other.brand.pk}).context["form"]

    assert f'href="{page}?brand={other.brand.pk}"' in html
    assert form["brand"].field.widget.is_hidden
    assert (form["brand"].value(), form["level_period"].value(), form["level_grace_days"].value()) == (
        other.brand.pk,
        "quarter",
        9,
    )


def test_member_page_shows_the_missing_points_and_level_history(new_programme):
    programme = new_programme(level_period="rolling", level_period_months=12)
    member = programme.member()
    programme.earn(member, 120, timezone.now() - timedelta(days=40))
    programme.earn(member, 30, timezone.now())
    client = browser(staff(programme.brand, role="support"))

    html = html_of(client.get(address("loyalty.userpoints", "change", member.pk)))

    assert "to keep it longer: 70 points more; 150 points since" in html
    assert "Bronze > Silver" in html
    assert "Bronze" in html_of(client.get(address("loyalty.levelchange")))


def test_member_of_a_deleted_level_sees_its_end(new_programme, api):
    programme = new_programme(level_period="rolling", level_period_months=12, level_grace_days=5)
    member = programme.member()
    programme.earn(member, 120, timezone.now() - timedelta(days=40))
    BrandLevel.objects.filter(brand=programme.brand, name="Silver").delete()
    staff_client = browser(staff(programme.brand, role="support"))

    html = html_of(staff_client.get(address("loyalty.userpoints", "change", member.pk)))
    body = api.as_customer(member.user, brand=programme.brand).get("customer/loyalty/points").json()["data"]

    assert "Permanently" not in html
    until = member.level_until
    displayed_end = {name: body["level_end"][name] for name in ("level_until", "grace_until", "missing")}
    assert displayed_end == {
        "level_until": until.isoformat(),
        "grace_until": (until + timedelta(days=5)).isoformat(),
        "missing": None,
    }


# --- The API ---------------------------------------------------------------------------------------------------------


def test_customer_can_read_the_level_end_and_the_benefits_of_all_levels(new_programme, api):
    programme = new_programme(level_period="rolling", level_period_months=12, level_grace_days=5)
    BrandLevel.objects.filter(brand=programme.brand, name="Silver").update(
        benefits="Free shipping\n Early access \n", translations={"de": {"benefits": "Versand frei", "name": "Silber"}}
    )
    member = programme.member()
    reached = timezone.now() - timedelta(days=40)
    programme.earn(member, 120, reached)
    programme.earn(member, 30, timezone.now())
    body = api.as_customer(member.user, brand=programme.brand).get("customer/loyalty/points").json()["data"]

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


def test_next_level_is_above_the_level_that_was_reached_in_the_last_period(new_programme, api):
    programme = new_programme(level_period="rolling", level_period_months=1, level_warning_days=7)
    member = programme.member()
    programme.earn(member, 120, timezone.now() - timedelta(days=40))
    UserPoints.objects.filter(pk=member.pk).update(level_until=timezone.now() + timedelta(days=10))
    programme.night(timezone.now())
    body = api.as_customer(member.user, brand=programme.brand).get("customer/loyalty/points").json()["data"]
    wallet_pass = WalletPass.objects.create(brand=programme.brand, account=member, platform="apple", token="t")

    assert (body["level"], body["level_end"]["points"]) == ("Silver", 0)
    assert body["next_level"] == {"name": "Gold", "threshold": 500, "missing": 500, "points": 0}
    assert cards.card_of(wallet_pass).progress("en") == "500 points to Gold"


def test_missing_points_appear_only_in_the_last_period_of_a_level(new_programme):
    programme = new_programme()
    member = programme.member()

    def level_end_at(at):
        member.refresh_from_db()
        return level_end(brand=programme.brand, account=member, ladder=levels_of(programme.brand), at=at)

    assert level_end_at(on("2026-03-01")).level_until is None
    programme.earn(member, 120, on("2026-03-01"))
    assert (level_end_at(on("2026-03-02")).level_until, level_end_at(on("2026-03-02")).missing) == (
        date(2027, 12, 31),
        None,
    )
    programme.earn(member, 20, on("2027-03-01"))
    assert (level_end_at(on("2027-03-02")).level_until, level_end_at(on("2027-03-02")).missing) == (
        date(2027, 12, 31),
        80,
    )
    programme.earn(member, 80, on("2027-04-01"))
    assert (level_end_at(on("2027-04-02")).level_until, level_end_at(on("2027-04-02")).missing) == (
        date(2028, 12, 31),
        0,
    )


# --- Cards and notifications -----------------------------------------------------------------------------------------


def test_wallet_card_has_the_level_end_and_the_points_missing_in_the_period(new_programme):
    programme = new_programme()
    member = programme.member()
    programme.earn(member, 90, on("2026-03-01"))
    programme.earn(member, 120, on("2027-03-01"))
    card = cards.card_of(WalletPass(account=member, brand=programme.brand))

    assert (card.level_until, card.missing) == (date(2028, 12, 31), 380)
    assert card.level_until_text("de") == "31. Dezember 2028"
    programme.set(level_period="lifetime")
    assert cards.card_of(WalletPass(account=member, brand=programme.brand)).level_until_text("de") == ""


@pytest.mark.parametrize("language", ["en", "de", "ar"])
@pytest.mark.parametrize("template", ["NOTIFY_LEVEL_ENDING", "NOTIFY_LEVEL_LOWERED"])
def test_notification_texts_contain_their_placeholders(template, language):
    expected_names = {"NOTIFY_LEVEL_ENDING": ["level_name", "points_missing", "level_until"]}
    for channel in ("email", "sms", "push"):
        template_text = catalogue.shipped(template, channel, language)
        full_text = template_text.subject + template_text.body
        for name in expected_names.get(template, ["level_before", "level_name"]):
            assert f"{{{name}}}" in full_text, (channel, name)


def test_warning_creates_a_notification_of_the_topic_points(new_programme):
    programme = new_programme(level_warning_days=30)
    NotificationSettings.objects.create(brand=programme.brand, is_active=True)
    member = programme.member()
    programme.earn(member, 120, on("2026-03-01"))
    programme.night(on("2027-12-05"))

    worker.drain_slow(lane="notices")

    notification = Notification.objects.get(brand=programme.brand, template="NOTIFY_LEVEL_ENDING")
    assert notification.user_id == member.user_id
    assert notification.payload["points_missing"] == 100
    assert catalogue.KINDS["NOTIFY_LEVEL_ENDING"].topic == "points"
