"""Members and partner codes over the API: scopes, the daily limit of points, and files of many portions."""

from dataclasses import replace

import pytest
from django.utils import timezone

from brands.identity import api_keys
from brands.models.audit import AuditLogEntry
from brands.models.credentials import ApiKey
from jobs import runner
from jobs.models import Job
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import LoyaltyTransaction
from loyalty.models.rewards import PoolCode
from loyalty.rewards import pools
from portal.import_export import tables
from tests.support import factories
from tests.support.api import Api, error
from tests.support.portal import staff

pytestmark = pytest.mark.usefixtures("media")

MEMBERS, CODES = "members", "partner-codes"
POINTS = "email,opening_balance\n"
SMALL_LIMIT = 1  # a scan: 100 points a day


def with_scopes(brand, *scopes):
    _key, key_text = api_keys.create(brand=brand, kind="hub", name="x", at=timezone.now(), scopes=list(scopes))
    return replace(Api(brand), headers={"api-key": key_text})


def send_file(caller, resource, content):
    return caller.call("POST", f"brand/imports/{resource}", data=content.encode(), content_type="text/csv")


def data_of(response):
    return response.json()["data"]


def confirm(caller, resource, preview):
    return caller.post(f"brand/imports/{resource}/{preview['id']}/confirm", {"digest": preview["digest"]})


def checked_preview(caller, resource, content):
    """The preview of a file that a job checks."""
    uploaded = data_of(send_file(caller, resource, content))
    runner.run(uploaded["job_id"])
    return data_of(caller.get(f"brand/imports/{resource}/{uploaded['id']}"))


def messages_by_line(preview):
    return {line_error["line"]: line_error["message"] for line_error in preview["line_errors"]}


def balances(brand):
    return dict(UserPoints.objects.filter(brand=brand).values_list("user__email", "points"))


# --- Permissions


@pytest.mark.parametrize(
    ("resource", "content", "required_scope"),
    [(MEMBERS, "email\na@example.com\n", "members"), (CODES, "reward,code\nVoucher,A-1\n", "admin")],
)
def test_key_needs_exactly_the_documented_scope(brand, resource, content, required_scope):
    factories.reward(brand, name="Voucher", uses_pool=True)
    caller = with_scopes(brand, "read")
    for scope in ApiKey.Scope.values:
        ApiKey.objects.update(scopes=[scope])
        response = send_file(caller, resource, content)
        assert response.status_code == (201 if scope == required_scope else 403), scope


@pytest.mark.parametrize("resource", [MEMBERS, CODES])
@pytest.mark.parametrize(("role", "status"), [("owner", 201), ("manager", 201), ("support", 403), ("printer", 403)])
def test_staff_can_import_what_their_role_allows(brand, api, resource, role, status):
    factories.reward(brand, name="Voucher", uses_pool=True)
    content = {MEMBERS: "email\na@example.com\n", CODES: "reward,code\nVoucher,A-1\n"}[resource]

    assert send_file(api.as_customer(staff(brand, role=role)), resource, content).status_code == status


def test_opening_balances_need_the_points_scope_until_confirmation(brand):
    only_members, members_and_points = with_scopes(brand, "members"), with_scopes(brand, "members", "points")

    rejected = data_of(send_file(only_members, MEMBERS, POINTS + "a@example.com,5\nb@example.com,0\n"))
    assert messages_by_line(rejected) == {2: "This key may not add points. It needs the scope “points”."}
    preview = data_of(send_file(members_and_points, MEMBERS, POINTS + "a@example.com,5\n"))
    ApiKey.objects.filter(scopes=["members", "points"]).update(scopes=["members"])

    assert error(confirm(members_and_points, MEMBERS, preview)) == (400, "VALIDATION_ERROR")
    assert balances(brand) == {}


def test_import_does_not_match_rows_of_another_brand(brand, api):
    other_brand = factories.brand()
    factories.customer(other_brand, email="a@example.com", first_name="Theirs")
    factories.reward(other_brand, name="Voucher", uses_pool=True)

    hub = api.hub()
    preview = data_of(send_file(hub, MEMBERS, "email\na@example.com\n"))
    assert (preview["counts"]["new"], preview["line_errors"]) == (1, [])
    assert confirm(hub, MEMBERS, preview).status_code == 200
    assert not UserPoints.objects.get(brand=brand).first_name
    codes = data_of(send_file(hub, CODES, "reward,code\nVoucher,A-1\n"))
    assert messages_by_line(codes) == {2: "There is no “Voucher” in this brand."}


# --- The daily limit of points


def key_with_small_limit(brand):
    brand.max_points_per_scan = SMALL_LIMIT
    brand.save(update_fields=["max_points_per_scan"])
    return with_scopes(brand, "members", "points")


def test_imports_and_adjustments_of_all_keys_share_the_daily_limit(brand):
    hub = key_with_small_limit(brand)
    other_key = with_scopes(brand, "members", "points")
    preview = data_of(send_file(hub, MEMBERS, POINTS + "a@example.com,60\n"))
    assert confirm(hub, MEMBERS, preview).status_code == 200

    rejected = data_of(send_file(other_key, MEMBERS, POINTS + "b@example.com,40.5\n"))
    assert "40 of 100 points are left" in messages_by_line(rejected)[2]
    member = UserPoints.objects.get(brand=brand)
    adjustment = {"points": "40.5", "reason": "Sorry"}
    adjustment_response = other_key.post(f"brand/members/{member.user_id}/adjustments", adjustment, idempotency_key="k")
    assert error(adjustment_response) == (400, "VALIDATION_ERROR")
    preview = data_of(send_file(other_key, MEMBERS, POINTS + "b@example.com,40\n"))
    assert confirm(other_key, MEMBERS, preview).status_code == 200
    assert balances(brand) == {"a@example.com": 60, "b@example.com": 40}


def test_limit_used_up_since_the_preview_blocks_the_import(brand):
    hub, other_key = key_with_small_limit(brand), with_scopes(brand, "members", "points")
    first = data_of(send_file(hub, MEMBERS, POINTS + "a@example.com,60\n"))
    second = data_of(send_file(other_key, MEMBERS, POINTS + "b@example.com,60\n"))
    assert (first["line_errors"], second["line_errors"]) == ([], [])

    assert confirm(hub, MEMBERS, first).status_code == 200
    assert error(confirm(other_key, MEMBERS, second)) == (400, "VALIDATION_ERROR")
    assert balances(brand) == {"a@example.com": 60}


# --- Files of many portions


@pytest.fixture
def small_portions(monkeypatch, transactional_db):
    monkeypatch.setattr(tables, "MAX_ROWS", 2)
    return factories.brand()


def test_points_of_all_portions_count_against_the_limit(small_portions):
    brand = small_portions
    hub = key_with_small_limit(brand)
    rows = [f"m{number}@example.com,30\n" for number in range(6)]

    over_limit = checked_preview(hub, MEMBERS, POINTS + "".join(rows))
    assert "100 of 100 points are left" in messages_by_line(over_limit)[4]
    assert len(messages_by_line(over_limit)) == 1
    within_limit = checked_preview(hub, MEMBERS, POINTS + "".join(rows[:3]))
    assert within_limit["line_errors"] == []
    runner.run(data_of(confirm(hub, MEMBERS, within_limit))["job_id"])

    assert Job.objects.latest("pk").status == "done"
    assert sum(balances(brand).values()) == 90


def test_duplicate_members_and_codes_are_detected_across_portions(small_portions):
    brand = small_portions
    factories.reward(brand, name="Voucher", uses_pool=True)
    hub = Api(brand).hub()
    rows = ["a@example.com,1,s\n", "b@example.com,2,s\n", "A@example.com,3,s\n", "c@example.com,2,s\n"]

    members = checked_preview(
        hub, MEMBERS, "email,external_id,opening_source\n" + "".join(rows) + "d@example.com,5,t\n"
    )
    assert messages_by_line(members) == {
        4: "Lines 2, 4 are for the same row.",
        5: "Lines 3, 5 are for the same row.",
        6: "Write the same in every line, or split the file.",
    }
    codes = checked_preview(hub, CODES, "reward,code\n" + "".join(f"Voucher,{code}\n" for code in "ABCAD"))
    assert messages_by_line(codes) == {5: "Lines 2, 5 have the same code."}


@pytest.mark.django_db(transaction=True)
def test_thousands_of_members_and_codes_are_imported_by_jobs(transactional_db):
    brand = factories.brand(max_points_per_scan=1_000)
    reward = factories.reward(brand, name="Voucher", uses_pool=True)
    hub, quantity = Api(brand).hub(), tables.MAX_ROWS + 500
    members = "email,first_name,external_id,opening_balance\n"
    members += "".join(f"m{number}@example.com,M,X-{number},2\n" for number in range(quantity))
    codes = "reward,code\n" + "".join(f"Voucher,CODE-{number:05}\n" for number in range(quantity))

    for resource, content in ((MEMBERS, members), (CODES, codes)):
        preview = checked_preview(hub, resource, content)
        assert preview["counts"] == {"new": quantity, "changed": 0, "unchanged": 0, "error": 0}
        runner.run(data_of(confirm(hub, resource, preview))["job_id"])
        assert Job.objects.latest("pk").status == "done"

    assert UserPoints.objects.filter(brand=brand, points=2).count() == quantity
    assert LoyaltyTransaction.objects.count() == quantity
    assert PoolCode.objects.filter(reward=reward, digest=pools.digest(f"CODE-{quantity - 1:05}")).count() == 1
    assert pools.left([reward], at=timezone.now()) == {reward.pk: quantity}
    key = ApiKey.objects.get(brand=brand, kind="hub")
    for kind in ("loyalty.userpoints", "loyalty.poolcode"):
        assert AuditLogEntry.objects.filter(kind=kind, api_key=key, brand=brand).count() == quantity
    second_preview = checked_preview(hub, MEMBERS, members)
    assert (second_preview["counts"]["unchanged"], second_preview["counts"]["error"]) == (quantity, 0)
