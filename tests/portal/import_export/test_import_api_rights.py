"""Members and codes of partners over the API: what a key may import, how many points, and files of many portions."""

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
    _key, text = api_keys.create(brand=brand, kind="hub", name="x", at=timezone.now(), scopes=list(scopes))
    return replace(Api(brand), headers={"api-key": text})


def send(caller, resource, content):
    return caller.call("POST", f"brand/imports/{resource}", data=content.encode(), content_type="text/csv")


def found(answer):
    return answer.json()["data"]


def confirm(caller, resource, preview):
    return caller.post(f"brand/imports/{resource}/{preview['id']}/confirm", {"digest": preview["digest"]})


def checked(caller, resource, content):
    """The preview of a file that a job checks."""
    uploaded = found(send(caller, resource, content))
    runner.run(uploaded["job_id"])
    return found(caller.get(f"brand/imports/{resource}/{uploaded['id']}"))


def faults(preview):
    return {it["line"]: it["message"] for it in preview["line_errors"]}


def balances(brand):
    return dict(UserPoints.objects.filter(brand=brand).values_list("user__email", "points"))


# --- Who may


@pytest.mark.parametrize(
    ("resource", "content", "needed"),
    [(MEMBERS, "email\na@example.com\n", "members"), (CODES, "reward,code\nVoucher,A-1\n", "admin")],
)
def test_key_needs_one_scope_and_no_other_does(brand, resource, content, needed):
    factories.reward(brand, name="Voucher", uses_pool=True)
    caller = with_scopes(brand, "read")
    for scope in ApiKey.Scope.values:
        ApiKey.objects.update(scopes=[scope])
        answer = send(caller, resource, content)
        assert answer.status_code == (201 if scope == needed else 403), scope


@pytest.mark.parametrize("resource", [MEMBERS, CODES])
@pytest.mark.parametrize(("role", "status"), [("owner", 201), ("manager", 201), ("support", 403), ("printer", 403)])
def test_staff_import_what_their_role_may(brand, api, resource, role, status):
    factories.reward(brand, name="Voucher", uses_pool=True)
    content = {MEMBERS: "email\na@example.com\n", CODES: "reward,code\nVoucher,A-1\n"}[resource]

    assert send(api.as_customer(staff(brand, role=role)), resource, content).status_code == status


def test_balances_need_the_scope_for_points_too_until_they_are_written(brand):
    only_members, both = with_scopes(brand, "members"), with_scopes(brand, "members", "points")

    refused = found(send(only_members, MEMBERS, POINTS + "a@example.com,5\nb@example.com,0\n"))
    assert faults(refused) == {2: "This key may not add points. It needs the scope “points”."}
    preview = found(send(both, MEMBERS, POINTS + "a@example.com,5\n"))
    ApiKey.objects.filter(scopes=["members", "points"]).update(scopes=["members"])

    assert error(confirm(both, MEMBERS, preview)) == (400, "VALIDATION_ERROR")
    assert balances(brand) == {}


def test_members_and_codes_of_another_brand_are_none_of_the_keys(brand, api):
    other = factories.brand()
    factories.customer(other, email="a@example.com", first_name="Theirs")
    factories.reward(other, name="Voucher", uses_pool=True)

    hub = api.hub()
    preview = found(send(hub, MEMBERS, "email\na@example.com\n"))
    assert (preview["counts"]["new"], preview["line_errors"]) == (1, [])
    assert confirm(hub, MEMBERS, preview).status_code == 200
    assert not UserPoints.objects.get(brand=brand).first_name
    codes = found(send(hub, CODES, "reward,code\nVoucher,A-1\n"))
    assert faults(codes) == {2: "There is no “Voucher” in this brand."}


# --- How many points


def limited(brand):
    brand.max_points_per_scan = SMALL_LIMIT
    brand.save(update_fields=["max_points_per_scan"])
    return with_scopes(brand, "members", "points")


def test_keys_of_a_brand_share_the_daily_limit_with_adjustments_by_keys(brand):
    hub = limited(brand)
    other = with_scopes(brand, "members", "points")
    preview = found(send(hub, MEMBERS, POINTS + "a@example.com,60\n"))
    assert confirm(hub, MEMBERS, preview).status_code == 200

    refused = found(send(other, MEMBERS, POINTS + "b@example.com,40.5\n"))
    assert "40 of 100 points are left" in faults(refused)[2]
    member = UserPoints.objects.get(brand=brand)
    adjustment = {"points": "40.5", "reason": "Sorry"}
    by_hand = other.post(f"brand/members/{member.user_id}/adjustments", adjustment, idempotency_key="k")
    assert error(by_hand) == (400, "VALIDATION_ERROR")
    preview = found(send(other, MEMBERS, POINTS + "b@example.com,40\n"))
    assert confirm(other, MEMBERS, preview).status_code == 200
    assert balances(brand) == {"a@example.com": 60, "b@example.com": 40}


def test_limit_that_is_used_up_since_the_preview_holds_the_import_up(brand):
    hub, other = limited(brand), with_scopes(brand, "members", "points")
    first = found(send(hub, MEMBERS, POINTS + "a@example.com,60\n"))
    second = found(send(other, MEMBERS, POINTS + "b@example.com,60\n"))
    assert (first["line_errors"], second["line_errors"]) == ([], [])

    assert confirm(hub, MEMBERS, first).status_code == 200
    assert error(confirm(other, MEMBERS, second)) == (400, "VALIDATION_ERROR")
    assert balances(brand) == {"a@example.com": 60}


# --- Files of many portions


@pytest.fixture
def small_portions(monkeypatch, transactional_db):
    monkeypatch.setattr(tables, "MAX_ROWS", 2)
    return factories.brand()


def test_points_of_all_portions_count_against_the_limit(small_portions):
    brand = small_portions
    hub = limited(brand)
    rows = [f"m{number}@example.com,30\n" for number in range(6)]

    too_many = checked(hub, MEMBERS, POINTS + "".join(rows))
    assert "100 of 100 points are left" in faults(too_many)[4]
    assert len(faults(too_many)) == 1
    enough = checked(hub, MEMBERS, POINTS + "".join(rows[:3]))
    assert enough["line_errors"] == []
    runner.run(found(confirm(hub, MEMBERS, enough))["job_id"])

    assert Job.objects.latest("pk").status == "done"
    assert sum(balances(brand).values()) == 90


def test_repeated_members_and_codes_are_found_in_all_portions(small_portions):
    brand = small_portions
    factories.reward(brand, name="Voucher", uses_pool=True)
    hub = Api(brand).hub()
    people = ["a@example.com,1,s\n", "b@example.com,2,s\n", "A@example.com,3,s\n", "c@example.com,2,s\n"]

    members = checked(hub, MEMBERS, "email,external_id,opening_source\n" + "".join(people) + "d@example.com,5,t\n")
    assert faults(members) == {
        4: "Lines 2, 4 are for the same row.",
        5: "Lines 3, 5 are for the same row.",
        6: "Write the same in every line, or split the file.",
    }
    codes = checked(hub, CODES, "reward,code\n" + "".join(f"Voucher,{code}\n" for code in "ABCAD"))
    assert faults(codes) == {5: "Lines 2, 5 have the same code."}


@pytest.mark.django_db(transaction=True)
def test_thousands_of_members_and_codes_are_imported_by_jobs(transactional_db):
    brand = factories.brand(max_points_per_scan=1_000)
    reward = factories.reward(brand, name="Voucher", uses_pool=True)
    hub, quantity = Api(brand).hub(), tables.MAX_ROWS + 500
    members = "email,first_name,external_id,opening_balance\n"
    members += "".join(f"m{number}@example.com,M,X-{number},2\n" for number in range(quantity))
    codes = "reward,code\n" + "".join(f"Voucher,CODE-{number:05}\n" for number in range(quantity))

    for resource, content in ((MEMBERS, members), (CODES, codes)):
        preview = checked(hub, resource, content)
        assert preview["counts"] == {"new": quantity, "changed": 0, "unchanged": 0, "error": 0}
        runner.run(found(confirm(hub, resource, preview))["job_id"])
        assert Job.objects.latest("pk").status == "done"

    assert UserPoints.objects.filter(brand=brand, points=2).count() == quantity
    assert LoyaltyTransaction.objects.count() == quantity
    assert PoolCode.objects.filter(reward=reward, digest=pools.digest(f"CODE-{quantity - 1:05}")).count() == 1
    assert pools.left([reward], at=timezone.now()) == {reward.pk: quantity}
    key = ApiKey.objects.get(brand=brand, kind="hub")
    for kind in ("loyalty.userpoints", "loyalty.poolcode"):
        assert AuditLogEntry.objects.filter(kind=kind, api_key=key, brand=brand).count() == quantity
    again = checked(hub, MEMBERS, members)
    assert (again["counts"]["unchanged"], again["counts"]["error"]) == (quantity, 0)
