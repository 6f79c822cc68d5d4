"""The demo: made once, refreshed ever after, and never anybody else's rows."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from authcodes.models.batches import BatchRange
from authcodes.models.codes import AuthCode
from authcodes.models.scans import Scan
from authcodes.scanning import scan
from authcodes.scanning.types import ScanContext
from brands import errors
from brands.identity import api_keys
from brands.models.credentials import ApiKey
from brands.models.people import StaffRole, User
from brands.models.tenants import Brand, BrandHostname
from campaigns.earning import rules
from campaigns.models.earning_rules import EarningRule
from campaigns.replay.drafts import Draft
from campaigns.replay.replay import replay
from config.demo.data import FRESH_AT_LEAST, PLANS, SUPERUSER
from core.db import row_guard
from events.models import Event
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.levels import BrandLevel
from loyalty.models.rewards import Redemption
from tests.config.conftest import Ask
from tests.support import factories, shop

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("kept")]


def all_rows() -> dict[str, list[Any]]:
    ours = [
        model
        for name in ("brands", "events", "jobs", "campaigns", "loyalty", "authcodes")
        for model in apps.get_app_config(name).get_models()
    ]
    return {model._meta.label: list(model._default_manager.order_by("pk").values()) for model in ours}


def test_second_run_changes_nothing(kept: Path) -> None:
    call_command("demo")
    rows, credentials = all_rows(), kept.read_text()

    call_command("demo")

    again = all_rows()
    for rows_of_keys in (rows["brands.ApiKey"], again["brands.ApiKey"]):
        for row in rows_of_keys:
            row.pop("last_used_at")
    assert again == rows
    assert kept.read_text() == credentials


def test_json_has_what_a_shell_needs(ask: Ask) -> None:
    found = ask()

    other = found.pop("second_brand")
    assert set(found) == set(other) == {
        "base_url", "brand_id", "origin", "hub_key", "app_key", "customers", "staff", "codes", "batches", "products",
    }  # fmt: skip
    for one in (found, other):
        assert [set(customer) for customer in one["customers"]] == [{"user_id", "email", "password"}] * 3
        assert [person["role"] for person in one["staff"]] == ["owner", "manager", "printer", "support"]
        assert {person["brand_id"] for person in one["staff"]} == {one["brand_id"]}
        assert all(set(product) == {"id", "sku", "title", "retail_price"} for product in one["products"])
        assert len(set(one["codes"])) >= 20
        assert set(one["batches"]) == set(BatchRange.objects.filter(brand=one["brand_id"]).values_list("pk", flat=True))
    assert found["products"][0]["retail_price"] == 49.99
    assert found["brand_id"] != other["brand_id"]


def test_everything_that_opens_something_opens_it(ask: Ask) -> None:
    found = ask()

    for brand in (found, found["second_brand"]):
        for kind in ("hub", "app"):
            caller = api_keys.find(brand[f"{kind}_key"], at=timezone.now())
            assert (caller.kind, caller.brand_id) == (kind, brand["brand_id"])
        for customer in brand["customers"]:
            person = User.objects.get(pk=customer["user_id"], email=customer["email"], is_staff=False)
            assert person.check_password(customer["password"])
            assert UserPoints.objects.filter(user=person, brand=brand["brand_id"]).exists()
        for staff in brand["staff"]:
            person = User.objects.get(email=staff["username"], is_staff=True, is_superuser=False)
            assert person.check_password(staff["password"])
            assert StaffRole.objects.get(user=person).role == staff["role"]
        hostname = brand["origin"].removeprefix("http://")
        assert BrandHostname.objects.get(hostname=hostname).brand_id == brand["brand_id"]


def test_codes_are_genuine_and_unscanned(ask: Ask) -> None:
    found = ask()

    for brand in (found, found["second_brand"]):
        for code in brand["codes"]:
            result = scan.preview(scanned=code, context=ScanContext(at=timezone.now(), brand_id=brand["brand_id"]))
            assert (result.reason, result.scan_count, result.points > 0) == ("accepted", 0, True)


def test_scanned_codes_are_not_given_out_again(ask: Ask) -> None:
    used = ask()["codes"]
    for code in used:
        scan.scan(scanned=code, context=ScanContext(at=timezone.now()))

    assert set(ask()["codes"]).isdisjoint(used)


def test_codes_that_run_out_are_followed_by_more(ask: Ask) -> None:
    brand = Brand.objects.get(pk=ask()["brand_id"])
    fresh = AuthCode.objects.filter(brand=brand, batch__range_name__startswith="Demo codes")
    factories.deactivate(codes=fresh[FRESH_AT_LEAST - 1 :], at=timezone.now())
    factories.batch(brand, prefix="AUR-", starting_number=501, number_width=8, quantity=100)

    found = ask()

    newest = BatchRange.objects.filter(brand=brand).first()
    assert newest is not None
    assert (newest.first_code, newest.is_generated) == ("AUR-00000601", True)
    assert newest.pk in found["batches"]
    assert len(found["codes"]) >= 20


def test_demo_shows_every_kind_of_thing() -> None:
    call_command("demo")

    assert Brand.objects.count() == 2
    assert set(BrandLevel.objects.values_list("scan_reward_type", flat=True)) == {"points", "percentage"}
    assert set(EarningRule.objects.values_list("kind", flat=True)) == set(EarningRule.Kind.values)
    names = BatchRange.objects.filter(brand__slug="demo-aurora").values_list("range_name", flat=True)
    assert {"Three scans each", "Unlimited scans", "Signed", "Expired", "Recalled", "Not assigned yet"} <= set(names)
    reasons = set()
    for code in AuthCode.objects.order_by("batch_id").distinct("batch_id"):
        reasons.add(scan.preview(scanned=code.code, context=ScanContext(at=timezone.now())).reason)
    kinds = Scan.Reason
    assert reasons == {kinds.ACCEPTED, kinds.RECALLED, kinds.EXPIRED, kinds.UNASSIGNED, kinds.BAD_TAG}


def test_passwords_are_for_the_owner_of_the_file_only(kept: Path) -> None:
    call_command("demo")

    assert kept.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in kept.parent.iterdir()] == ["demo.json"]


def test_lost_file_gets_new_passwords_for_the_same_people(ask: Ask, kept: Path) -> None:
    before = ask()
    people = set(User.objects.values_list("pk", "email"))
    kept.unlink()

    after = ask()

    assert set(User.objects.values_list("pk", "email")) == people
    assert after["customers"][0]["password"] != before["customers"][0]["password"]
    assert User.objects.get(pk=after["customers"][0]["user_id"]).check_password(after["customers"][0]["password"])
    with pytest.raises(errors.ApiKeyInvalid):
        api_keys.find(before["hub_key"], at=timezone.now())
    assert api_keys.find(after["hub_key"], at=timezone.now()).brand_id == after["brand_id"]


@pytest.mark.parametrize("content", ["", "[]", '{"unknown": 1}', "\x00"])
def test_spoilt_file_is_replaced(ask: Ask, kept: Path, content: str) -> None:
    kept.write_text(content)

    staff = ask()["staff"][0]

    assert User.objects.get(email=staff["username"]).check_password(staff["password"])


def test_unreadable_file_is_left_alone(ask: Ask, kept: Path) -> None:
    kept.mkdir()

    with pytest.raises(CommandError, match="left alone"):
        ask()

    assert not Brand.objects.exists()


def test_changed_password_and_revoked_key_are_mended(ask: Ask) -> None:
    before = ask()
    person = User.objects.get(email=before["staff"][0]["username"])
    person.set_password("something else")
    person.is_active = False
    person.save()
    api_keys.revoke(key=ApiKey.objects.get(brand=before["brand_id"], kind="hub"), at=timezone.now())

    after = ask()

    person.refresh_from_db()
    assert person.is_active
    assert person.check_password(after["staff"][0]["password"])
    assert api_keys.find(after["hub_key"], at=timezone.now()).brand_id == after["brand_id"]
    assert after["app_key"] == before["app_key"]
    assert after["staff"][1:] == before["staff"][1:]


def test_renewed_hash_of_the_same_password_is_no_change(ask: Ask) -> None:
    before = ask()
    person = User.objects.get(email=before["staff"][0]["username"])
    person.set_password(before["staff"][0]["password"])
    person.save()

    assert ask()["staff"] == before["staff"]


def test_brand_that_the_demo_did_not_make_stops_it() -> None:
    stranger = factories.brand(slug=PLANS[1].slug)

    with pytest.raises(CommandError, match=r"demo-bistro is there already.*DEMO=0"):
        call_command("demo")

    assert list(Brand.objects.all()) == [stranger]
    assert not User.objects.exists()


def test_hostname_that_is_taken_stops_it() -> None:
    factories.brand(hostname="aurora.localhost")

    with pytest.raises(CommandError, match=r"aurora\.localhost"):
        call_command("demo")

    assert Brand.objects.count() == 1


@pytest.mark.parametrize("email", [SUPERUSER, "anna@bistro.demo.example"])
def test_person_whom_the_demo_did_not_make_stops_it(email: str) -> None:
    stranger = factories.user(email=email, password="mine and mine alone")

    with pytest.raises(CommandError, match="is there already"):
        call_command("demo")

    stranger.refresh_from_db()
    assert stranger.check_password("mine and mine alone")
    assert not Brand.objects.exists()


def test_colleagues_whom_somebody_adds_keep_their_passwords(ask: Ask) -> None:
    ask()
    colleague = factories.user(email="carla@aurora.demo.example", password="mine and mine alone")

    ask()

    colleague.refresh_from_db()
    assert colleague.check_password("mine and mine alone")


@pytest.mark.django_db(transaction=True)
def test_three_months_are_lived_by_the_books() -> None:
    call_command("demo", "--three-months")

    assert shop.contradictions() == []
    for brand in Brand.objects.all():
        call_command("rebuild_rollups", brand.slug)
    call_command("check_rollups")
    for brand in Brand.objects.all():
        scans = Scan.objects.filter(brand=brand)
        assert set(scans.values_list("outcome", flat=True)) == {"success", "warning", "error"}
        assert {"accepted", "limit_reached", "unknown", "recalled"} <= set(scans.values_list("reason", flat=True))
        first, last = scans.earliest("scanned_at"), scans.latest("scanned_at")
        assert last.scanned_at - first.scanned_at > timedelta(days=80)
        assert last.scanned_at < timezone.now()
        ledger = LoyaltyTransaction.objects.filter(user_point__brand=brand)
        assert {"earned", "redeemed", "reversed"} <= {line.reason for line in ledger}
        assert {"issued", "used"} <= set(Redemption.objects.filter(brand=brand).values_list("status", flat=True))
        assert not Event.objects.filter(brand=brand, status="dead").exists()
        shown = UserPoints.objects.filter(brand=brand, user__email__in=[f"anna@{plan.domain}" for plan in PLANS])
        assert [account.points for account in shown] == [0]  # whoever logs in as her begins at nothing

    rows = Scan.objects.count()
    call_command("demo", "--three-months")
    assert Scan.objects.count() == rows


def test_three_months_leave_other_brands_events_alone() -> None:
    brand = factories.brand()
    waiting = shop.send(brand, factories.customer(brand), "log-user-login", {"type": "login", "channel": "app"})

    call_command("demo", "--three-months")

    waiting.refresh_from_db()
    assert (waiting.status, waiting.attempts) == ("pending", 0)
    assert not Scan.objects.exists()


def test_a_replay_of_its_life_finds_what_was_paid() -> None:
    call_command("demo", "--three-months")
    until = timezone.now()
    for brand in Brand.objects.filter(slug__in=[plan.slug for plan in PLANS]):
        rule = EarningRule.objects.filter(brand=brand, state=EarningRule.State.ACTIVE).earliest("pk")
        draft = Draft("rule", rule.name, rules.content_of(rule), rule_id=rule.pk)

        with row_guard.within([brand.pk]):
            result = replay(
                brand=brand, draft=draft, since=until - timedelta(days=91), until=until, raw=connection.connection
            )

        assert result["compared"] > 100
        # Where the clock stands still, two actions of a member may be replayed in the other order.
        assert result["differences"] < result["compared"] * 0.05, result["examples"]
