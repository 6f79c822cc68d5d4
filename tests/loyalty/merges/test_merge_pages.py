"""The pages and operations by which staff and the brand's systems merge two accounts, and undo it."""

import json
import re
import uuid

import pytest
from django.utils import timezone

from brands.audit_log import AuditContext
from brands.models.people import User
from core import personal_data
from loyalty.members import erasure
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import AccountMerge
from loyalty.models.programme.referrals import Referral
from tests.loyalty.merges.conftest import merged
from tests.support import factories, shop
from tests.support.api import error
from tests.support.portal import address, browser, staff, text

pytestmark = pytest.mark.django_db


def page(member, brand, name="merge"):
    return address("loyalty.userpoints", f"{name}", factories.account(member, brand).pk)


@pytest.fixture
def client(brand):
    return browser(staff(brand, role="manager"))


def look_up(client, brand, target, other):
    return client.get(page(target, brand), {"other": other})


def confirm(client, brand, target, source, **answers):
    where = f"{page(target, brand)}?other={source.pk}"
    return client.post(where, {"reason": "One person", "key": str(uuid.uuid4()), **answers}, follow=True)


def test_staff_find_the_other_account_compare_and_merge(client, brand, target, source):
    factories.points(target, brand, 5)
    factories.points(source, brand, 12)
    UserPoints.objects.filter(user=source).update(external_id="CRM-7")

    assert "E-mail address, user id" in text(client.get(page(target, brand)))
    for other in (source.email.upper(), str(source.pk), "CRM-7"):
        shown = text(look_up(client, brand, target, other))
        assert "After the merge" in shown
        assert source.email in shown
        assert "17" in shown
    done = text(confirm(client, brand, target, source))

    assert "The balance is now 17" in done
    assert "Undo until" in done
    assert AccountMerge.objects.get().note == "One person"
    assert "Merged into" in text(
        client.get(address("loyalty.userpoints", "change", factories.account(source, brand).pk))
    )
    undone = client.post(page(source, brand, "undo_merge"), {"reason": "Two persons"}, follow=True)
    assert "The merge was undone" in text(undone)
    assert [factories.account(each, brand).points for each in (target, source)] == [5, 12]


def test_the_same_page_sent_twice_merges_once(client, brand, target, source):
    key = str(uuid.uuid4())

    for _ in range(2):
        confirm(client, brand, target, source, key=key)

    assert AccountMerge.objects.count() == 1


def test_what_is_refused_is_said_on_the_page(client, brand, target, source):
    foreign = factories.customer(factories.brand())
    UserPoints.objects.filter(user=source).update(status="blocked")

    assert "has no such member" in text(look_up(client, brand, target, foreign.email))
    assert "has no such member" in text(look_up(client, brand, target, str(foreign.pk)))
    assert "has no such member" in text(look_up(client, brand, target, "x" * 254))
    assert "the same account" in text(look_up(client, brand, target, str(target.pk)))
    assert "is blocked. Unblock" in text(look_up(client, brand, target, str(source.pk)))
    assert "This field is required" in text(look_up(client, brand, target, " "))
    confirm(client, brand, target, source)
    assert not AccountMerge.objects.exists()


def test_a_merge_needs_a_reason(client, brand, target, source):
    confirm(client, brand, target, source, reason="")

    assert not AccountMerge.objects.exists()


@pytest.mark.parametrize("role", ["support", "printer"])
def test_staff_without_the_right_merge_nothing(brand, target, source, role):
    stranger = browser(staff(brand, role=role))
    other = browser(staff(factories.brand(), role="owner"))

    for client in (stranger, other):
        assert client.get(page(target, brand)).status_code in {302, 403, 404}
        where = f"{page(target, brand)}?other={source.pk}"
        assert client.post(where, {"reason": "x", "key": str(uuid.uuid4())}).status_code in {302, 403, 404}
    assert not AccountMerge.objects.exists()


def test_the_undo_that_is_not_possible_says_why(client, brand, target, source):
    factories.points(source, brand, 10)
    merged(brand, target, source)
    factories.redemption(target, factories.reward(brand, cost=10))

    answer = client.post(page(source, brand, "undo_merge"), {"reason": "x"}, follow=True)

    assert "10.00 points that would go back are missing" in text(answer)
    assert AccountMerge.objects.get().undone_at is None


# --- Over HTTP -------------------------------------------------------------------------------------------------------


def test_a_hub_merges_and_undoes(api, brand, target, source):
    factories.points(source, brand, 10)
    hub = api.hub()
    body = {"into": target.pk, "reason": "One person"}

    first = hub.post(f"brand/members/{source.pk}/merge", body, idempotency_key="one")
    again = hub.post(f"brand/members/{source.pk}/merge", body, idempotency_key="one")

    assert (first.status_code, again.status_code) == (201, 201)
    data = first.json()["data"]
    assert again.json()["data"] == data
    assert (data["target_user_id"], data["source_user_id"], data["points_moved"], data["new_balance"]) == (
        target.pk,
        source.pk,
        10,
        10,
    )
    old = hub.get(f"brand/members/{source.pk}").json()["data"]
    assert (old["status"], old["merged_into"], old["points"]) == ("merged", target.pk, 0)
    assert error(hub.post(f"brand/members/{source.pk}/merge", body, idempotency_key="two")) == (
        409,
        "MERGE_NOT_POSSIBLE",
    )
    assert error(
        hub.post(f"brand/members/{source.pk}/adjustments", {"points": 5, "reason": "x"}, idempotency_key="three")
    ) == (403, "MEMBER_BLOCKED")
    undone = hub.post(f"brand/members/{source.pk}/merge/undo", {"reason": "x"}, idempotency_key="four")
    assert undone.status_code == 201
    assert undone.json()["data"]["undone_at"]
    assert error(hub.post(f"brand/members/{source.pk}/merge/undo", {"reason": "x"}, idempotency_key="five")) == (
        409,
        "MERGE_UNDO_NOT_POSSIBLE",
    )
    assert shop.contradictions() == []


def test_a_hub_merges_nobody_with_themselves_or_a_stranger(api, brand, target, source):
    foreign = factories.customer(factories.brand())
    hub = api.hub()

    def answer(ended, into, key):
        body = {"into": into, "reason": "x"}
        return error(hub.post(f"brand/members/{ended}/merge", body, idempotency_key=key))

    assert answer(source.pk, source.pk, "a") == (400, "VALIDATION_ERROR")
    assert answer(source.pk, foreign.pk, "b") == (404, "USER_NOT_FOUND")
    assert answer(foreign.pk, source.pk, "c") == (404, "USER_NOT_FOUND")
    assert not AccountMerge.objects.exists()


def test_a_merged_member_is_not_unblocked_by_a_change(api, brand, target, source):
    merged(brand, target, source)
    hub = api.hub()

    for status in ("active", "blocked"):
        answer = hub.having(idempotency_key=status).call(
            "PATCH",
            f"brand/members/{source.pk}",
            data=json.dumps({"status": status, "reason": "x"}).encode(),
        )
        assert error(answer) == (403, "MEMBER_BLOCKED")
    assert factories.account(source, brand).status == "merged"


# --- Personal data ---------------------------------------------------------------------------------------------------


def exported(member, brand, topic="loyalty"):
    return json.loads("".join(personal_data.parts(user_id=member.pk, brand_id=brand.pk)))[topic]


def test_the_export_of_the_member_who_goes_on_has_both(brand, target, source):
    factories.points(target, brand, 5, reason_id="shop:own")
    factories.points(source, brand, 10, reason_id="shop:other")
    made = merged(brand, target, source)

    data = exported(target, brand)

    reasons = {line["reason_id"] for line in data["transactions"]}
    assert {"shop:own", "shop:other", f"merge-in:{made.pk}"} <= reasons
    assert [set(each) for each in data["merges"]] == [{"points", "created_at", "undone_at"}]  # not what staff wrote
    assert {line["reason_id"] for line in exported(source, brand)["transactions"]} == {
        "shop:other",
        f"merge-out:{made.pk}",
    }


def test_the_export_has_transfers_and_referrals_of_both(brand, target, source):
    other = factories.account(factories.customer(brand), brand)
    account = factories.account(source, brand)
    factories.transfer(account, other, 3)
    factories.transfer(other, account, 4)
    rewarded = {"state": Referral.State.REWARDED, "referrer_points": 5, "friend_points": 5, "action": "scan"}
    at = timezone.now()
    Referral.objects.create(brand=brand, referrer=account, friend=other, decided_at=at, rewarded_at=at, **rewarded)
    merged(brand, target, source)

    data = exported(target, brand)

    given, received = ([float(each["points"]) for each in data[f"points_{way}"]] for way in ("given", "received"))
    assert (given, received) == ([3], [4])
    assert [each["state"] for each in exported(target, brand, "referrals")["friends"]] == ["rewarded"]


def erase(member, brand):
    return erasure.erase(
        user_id=member.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now(), reason="Wish")
    )


def test_the_erasure_of_the_member_who_goes_on_erases_both(brand, target, source):
    emails = target.email, source.email
    factories.points(source, brand, 10)
    merged(brand, target, source)

    erase(target, brand)

    assert not User.objects.filter(email__in=emails).exists()
    assert not User.objects.filter(pk__in=[target.pk, source.pk], is_active=True).exists()
    assert AccountMerge.objects.get().note == ""
    assert shop.contradictions() == []


def test_the_erasure_of_the_old_account_leaves_the_other(brand, target, source):
    factories.points(source, brand, 10)
    merged(brand, target, source)

    erase(source, brand)

    assert User.objects.get(pk=target.pk).is_active
    assert not User.objects.get(pk=source.pk).is_active
    assert factories.account(target, brand).points == 10
    assert shop.contradictions() == []
    assert re.fullmatch(r"", AccountMerge.objects.get().note)
