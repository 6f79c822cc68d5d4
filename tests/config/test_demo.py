"""The demo is created once and refreshed by later runs, and never changes rows of others."""

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
from tests.config.conftest import RunDemo
from tests.support import factories, shop

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("credentials_file")]


def all_rows() -> dict[str, list[Any]]:
    models = [
        model
        for name in ("brands", "events", "jobs", "campaigns", "loyalty", "authcodes")
        for model in apps.get_app_config(name).get_models()
    ]
    return {model._meta.label: list(model._default_manager.order_by("pk").values()) for model in models}


def test_second_run_changes_nothing(credentials_file: Path) -> None:
    call_command("demo")
    rows, credentials = all_rows(), credentials_file.read_text()

    call_command("demo")

    again = all_rows()
    for rows_of_keys in (rows["brands.ApiKey"], again["brands.ApiKey"]):
        for row in rows_of_keys:
            row.pop("last_used_at")
    assert again == rows
    assert credentials_file.read_text() == credentials


def test_json_output_has_everything_that_a_script_needs(run_demo: RunDemo) -> None:
    output = run_demo()

    other = output.pop("second_brand")
    assert set(output) == set(other) == {
        "base_url", "brand_id", "origin", "hub_key", "app_key", "customers", "staff", "codes", "batches", "products",
    }  # fmt: skip
    for brand_output in (output, other):
        assert [set(customer) for customer in brand_output["customers"]] == [{"user_id", "email", "password"}] * 3
        assert [user["role"] for user in brand_output["staff"]] == ["owner", "manager", "printer", "support"]
        assert {user["brand_id"] for user in brand_output["staff"]} == {brand_output["brand_id"]}
        assert all(set(product) == {"id", "sku", "title", "retail_price"} for product in brand_output["products"])
        assert len(set(brand_output["codes"])) >= 20
        assert set(brand_output["batches"]) == set(
            BatchRange.objects.filter(brand=brand_output["brand_id"]).values_list("pk", flat=True)
        )
    assert output["products"][0]["retail_price"] == 49.99
    assert output["brand_id"] != other["brand_id"]


def test_listed_keys_passwords_and_hostnames_are_valid(run_demo: RunDemo) -> None:
    output = run_demo()

    for brand in (output, output["second_brand"]):
        for kind in ("hub", "app"):
            caller = api_keys.find(brand[f"{kind}_key"], at=timezone.now())
            assert (caller.kind, caller.brand_id) == (kind, brand["brand_id"])
        for customer in brand["customers"]:
            user = User.objects.get(pk=customer["user_id"], email=customer["email"], is_staff=False)
            assert user.check_password(customer["password"])
            assert UserPoints.objects.filter(user=user, brand=brand["brand_id"]).exists()
        for staff in brand["staff"]:
            user = User.objects.get(email=staff["username"], is_staff=True, is_superuser=False)
            assert user.check_password(staff["password"])
            assert StaffRole.objects.get(user=user).role == staff["role"]
        hostname = brand["origin"].removeprefix("http://")
        assert BrandHostname.objects.get(hostname=hostname).brand_id == brand["brand_id"]


def test_codes_are_genuine_and_unscanned(run_demo: RunDemo) -> None:
    output = run_demo()

    for brand in (output, output["second_brand"]):
        for code in brand["codes"]:
            result = scan.preview(scanned=code, context=ScanContext(at=timezone.now(), brand_id=brand["brand_id"]))
            assert (result.reason, result.scan_count, result.points > 0) == ("accepted", 0, True)


def test_scanned_codes_are_not_listed_again(run_demo: RunDemo) -> None:
    used = run_demo()["codes"]
    for code in used:
        scan.scan(scanned=code, context=ScanContext(at=timezone.now()))

    assert set(run_demo()["codes"]).isdisjoint(used)


def test_more_codes_are_generated_when_they_run_out(run_demo: RunDemo) -> None:
    brand = Brand.objects.get(pk=run_demo()["brand_id"])
    fresh = AuthCode.objects.filter(brand=brand, batch__range_name__startswith="Demo codes")
    factories.deactivate(codes=fresh[FRESH_AT_LEAST - 1 :], at=timezone.now())
    factories.batch(brand, prefix="AUR-", starting_number=501, number_width=8, quantity=100)

    output = run_demo()

    newest = BatchRange.objects.filter(brand=brand).first()
    assert newest is not None
    assert (newest.first_code, newest.is_generated) == ("AUR-00000601", True)
    assert newest.pk in output["batches"]
    assert len(output["codes"]) >= 20


def test_demo_has_examples_of_every_kind() -> None:
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


def test_credentials_file_is_readable_by_its_owner_only(credentials_file: Path) -> None:
    call_command("demo")

    assert credentials_file.stat().st_mode & 0o777 == 0o600
    assert [file.name for file in credentials_file.parent.iterdir()] == ["demo.json"]


def test_lost_file_is_replaced_with_new_passwords_for_the_same_users(run_demo: RunDemo, credentials_file: Path) -> None:
    before = run_demo()
    people = set(User.objects.values_list("pk", "email"))
    credentials_file.unlink()

    after = run_demo()

    assert set(User.objects.values_list("pk", "email")) == people
    assert after["customers"][0]["password"] != before["customers"][0]["password"]
    assert User.objects.get(pk=after["customers"][0]["user_id"]).check_password(after["customers"][0]["password"])
    with pytest.raises(errors.ApiKeyInvalid):
        api_keys.find(before["hub_key"], at=timezone.now())
    assert api_keys.find(after["hub_key"], at=timezone.now()).brand_id == after["brand_id"]


@pytest.mark.parametrize("content", ["", "[]", '{"unknown": 1}', "\x00"])
def test_corrupt_file_is_replaced(run_demo: RunDemo, credentials_file: Path, content: str) -> None:
    credentials_file.write_text(content)

    staff = run_demo()["staff"][0]

    assert User.objects.get(email=staff["username"]).check_password(staff["password"])


def test_unreadable_file_is_left_alone_and_stops_the_demo(run_demo: RunDemo, credentials_file: Path) -> None:
    credentials_file.mkdir()

    with pytest.raises(CommandError, match="not changed"):
        run_demo()

    assert not Brand.objects.exists()


def test_changed_password_and_revoked_key_are_restored(run_demo: RunDemo) -> None:
    before = run_demo()
    user = User.objects.get(email=before["staff"][0]["username"])
    user.set_password("something else")
    user.is_active = False
    user.save()
    api_keys.revoke(key=ApiKey.objects.get(brand=before["brand_id"], kind="hub"), at=timezone.now())

    after = run_demo()

    user.refresh_from_db()
    assert user.is_active
    assert user.check_password(after["staff"][0]["password"])
    assert api_keys.find(after["hub_key"], at=timezone.now()).brand_id == after["brand_id"]
    assert after["app_key"] == before["app_key"]
    assert after["staff"][1:] == before["staff"][1:]


def test_new_hash_of_the_same_password_changes_nothing(run_demo: RunDemo) -> None:
    before = run_demo()
    user = User.objects.get(email=before["staff"][0]["username"])
    user.set_password(before["staff"][0]["password"])
    user.save()

    assert run_demo()["staff"] == before["staff"]


def test_existing_brand_with_the_slug_of_the_demo_stops_it() -> None:
    existing_brand = factories.brand(slug=PLANS[1].slug)

    with pytest.raises(CommandError, match=r"demo-bistro is there already.*DEMO=0"):
        call_command("demo")

    assert list(Brand.objects.all()) == [existing_brand]
    assert not User.objects.exists()


def test_taken_hostname_stops_the_demo() -> None:
    factories.brand(hostname="aurora.localhost")

    with pytest.raises(CommandError, match=r"aurora\.localhost"):
        call_command("demo")

    assert Brand.objects.count() == 1


@pytest.mark.parametrize("email", [SUPERUSER, "anna@bistro.demo.example"])
def test_existing_user_with_an_email_of_the_demo_stops_it(email: str) -> None:
    existing_user = factories.user(email=email, password="mine and mine alone")

    with pytest.raises(CommandError, match="is there already"):
        call_command("demo")

    existing_user.refresh_from_db()
    assert existing_user.check_password("mine and mine alone")
    assert not Brand.objects.exists()


def test_colleague_added_later_keeps_the_password(run_demo: RunDemo) -> None:
    run_demo()
    colleague = factories.user(email="carla@aurora.demo.example", password="mine and mine alone")

    run_demo()

    colleague.refresh_from_db()
    assert colleague.check_password("mine and mine alone")


@pytest.mark.django_db(transaction=True)
def test_three_months_of_history_are_consistent() -> None:
    call_command("demo", "--three-months")

    assert shop.inconsistencies() == []
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
        assert {"earned", "redeemed", "reversed"} <= {entry.reason for entry in ledger}
        assert {"issued", "used"} <= set(Redemption.objects.filter(brand=brand).values_list("status", flat=True))
        assert not Event.objects.filter(brand=brand, status="dead").exists()
        accounts = UserPoints.objects.filter(brand=brand, user__email__in=[f"anna@{plan.domain}" for plan in PLANS])
        assert [account.points for account in accounts] == [0]  # anyone who logs in as Anna begins without points

    rows = Scan.objects.count()
    call_command("demo", "--three-months")
    assert Scan.objects.count() == rows


def test_three_months_of_history_leave_events_of_other_brands_alone() -> None:
    brand = factories.brand()
    waiting = shop.send(brand, factories.customer(brand), "log-user-login", {"type": "login", "channel": "app"})

    call_command("demo", "--three-months")

    waiting.refresh_from_db()
    assert (waiting.status, waiting.attempts) == ("pending", 0)
    assert not Scan.objects.exists()


def test_replay_of_three_months_matches_the_ledger() -> None:
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
        # If the clock stands still, two actions of a member may be replayed in the other order.
        assert result["differences"] < result["compared"] * 0.05, result["examples"]
