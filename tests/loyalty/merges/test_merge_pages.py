"""Portal pages and API operations that merge two accounts and undo a merge, and personal data of both."""

import json
import re
import uuid
from datetime import UTC, datetime

import pytest
from django.utils import timezone

from brands.audit_log import AuditContext
from brands.models.people import User
from brands.models.tenants import Brand
from core import personal_data
from loyalty.members import erasure
from loyalty.models.accounts import UserPoints
from loyalty.models.ledger import AccountMerge
from loyalty.models.programme.referrals import Referral
from tests.loyalty.merges.conftest import merge_accounts
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


def confirm(client, brand, target, source, **fields):
    url = f"{page(target, brand)}?other={source.pk}"
    return client.post(url, {"reason": "One person", "key": str(uuid.uuid4()), **fields}, follow=True)


def test_staff_search_compare_merge_and_undo(client, brand, target, source):
    factories.points(target, brand, 5)
    factories.points(source, brand, 12)
    UserPoints.objects.filter(user=source).update(external_id="CRM-7")

    assert "E-mail address, user id" in text(client.get(page(target, brand)))
    for other in (source.email.upper(), str(source.pk), "CRM-7"):
        page_text = text(look_up(client, brand, target, other))
        assert "After the merge" in page_text
        assert source.email in page_text
        assert "17" in page_text
    merged_page = text(confirm(client, brand, target, source))

    assert "The balance is now 17" in merged_page
    assert "Undo until" in merged_page
    assert AccountMerge.objects.get().note == "One person"
    assert "Merged into" in text(
        client.get(address("loyalty.userpoints", "change", factories.account(source, brand).pk))
    )
    undo_answer = client.post(page(source, brand, "undo_merge"), {"reason": "Two persons"}, follow=True)
    assert "The merge was undone" in text(undo_answer)
    assert [factories.account(each, brand).points for each in (target, source)] == [5, 12]


def test_submitting_the_page_twice_merges_once(client, brand, target, source):
    key = str(uuid.uuid4())

    answers = [text(confirm(client, brand, target, source, key=key)) for _ in range(2)]

    assert AccountMerge.objects.count() == 1
    assert all("The balance is now 0" in answer for answer in answers)


def test_chart_and_table_of_the_balance_count_no_point_twice(client, brand, target, source):
    factories.points(target, brand, 30)
    factories.points(source, brand, 50)
    merge_accounts(brand, target, source)

    chart = client.get(page(target, brand, "change")).context["chart"]

    assert chart.highest == "80"
    assert [(month.earned, month.gone, month.balance) for month in chart.months] == [("80", "0", "80")]


@pytest.mark.parametrize("is_same", [True, False])
def test_accounts_that_cannot_be_merged_any_longer_are_not_merged(client, brand, target, source, is_same):
    confirm(client, brand, target, source)

    answer = text(confirm(client, brand, target, target if is_same else source))

    assert ("This is the same account." if is_same else "was already merged into another account") in answer
    assert AccountMerge.objects.count() == 1


def test_page_explains_why_accounts_cannot_be_merged(client, brand, target, source):
    foreign_customer = factories.customer(factories.brand())
    UserPoints.objects.filter(user=source).update(status="blocked")

    assert "has no such member" in text(look_up(client, brand, target, foreign_customer.email))
    assert "has no such member" in text(look_up(client, brand, target, str(foreign_customer.pk)))
    assert "has no such member" in text(look_up(client, brand, target, "x" * 254))
    assert "the same account" in text(look_up(client, brand, target, str(target.pk)))
    assert "is blocked. Unblock" in text(look_up(client, brand, target, str(source.pk)))
    assert "This field is required" in text(look_up(client, brand, target, " "))
    confirm(client, brand, target, source)
    assert not AccountMerge.objects.exists()


def test_merge_requires_a_reason(client, brand, target, source):
    confirm(client, brand, target, source, reason="")

    assert not AccountMerge.objects.exists()


@pytest.mark.parametrize("role", ["support", "printer"])
def test_staff_without_permission_cannot_merge(brand, target, source, role):
    unprivileged_client = browser(staff(brand, role=role))
    other_brand_client = browser(staff(factories.brand(), role="owner"))

    for client in (unprivileged_client, other_brand_client):
        assert client.get(page(target, brand)).status_code in {302, 403, 404}
        url = f"{page(target, brand)}?other={source.pk}"
        assert client.post(url, {"reason": "x", "key": str(uuid.uuid4())}).status_code in {302, 403, 404}
    assert not AccountMerge.objects.exists()


def test_page_explains_why_a_merge_cannot_be_undone(client, brand, target, source):
    factories.points(source, brand, 10)
    merge_accounts(brand, target, source)
    factories.redemption(target, factories.reward(brand, cost=10))

    answer = client.post(page(source, brand, "undo_merge"), {"reason": "x"}, follow=True)

    assert "10.00 points that would go back are missing" in text(answer)
    assert AccountMerge.objects.get().undone_at is None


# --- Over HTTP -------------------------------------------------------------------------------------------------------


def test_hub_merges_and_undoes(api, brand, target, source):
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
    source_member = hub.get(f"brand/members/{source.pk}").json()["data"]
    assert (source_member["status"], source_member["merged_into"], source_member["points"]) == ("merged", target.pk, 0)
    assert error(hub.post(f"brand/members/{source.pk}/merge", body, idempotency_key="two")) == (
        409,
        "MERGE_NOT_POSSIBLE",
    )
    assert error(
        hub.post(f"brand/members/{source.pk}/adjustments", {"points": 5, "reason": "x"}, idempotency_key="three")
    ) == (403, "MEMBER_BLOCKED")
    undo_answer = hub.post(f"brand/members/{source.pk}/merge/undo", {"reason": "x"}, idempotency_key="four")
    assert undo_answer.status_code == 201
    assert undo_answer.json()["data"]["undone_at"]
    assert error(hub.post(f"brand/members/{source.pk}/merge/undo", {"reason": "x"}, idempotency_key="five")) == (
        409,
        "MERGE_UNDO_NOT_POSSIBLE",
    )
    assert shop.inconsistencies() == []


def test_hub_cannot_merge_a_member_with_itself_or_another_brands_customer(api, brand, target, source):
    foreign_customer = factories.customer(factories.brand())
    hub = api.hub()

    def merge_error(source_id, target_id, key):
        body = {"into": target_id, "reason": "x"}
        return error(hub.post(f"brand/members/{source_id}/merge", body, idempotency_key=key))

    assert merge_error(source.pk, source.pk, "a") == (400, "VALIDATION_ERROR")
    assert merge_error(source.pk, foreign_customer.pk, "b") == (404, "USER_NOT_FOUND")
    assert merge_error(foreign_customer.pk, source.pk, "c") == (404, "USER_NOT_FOUND")
    assert not AccountMerge.objects.exists()


def test_hub_cannot_change_the_status_of_a_merged_member(api, brand, target, source):
    merge_accounts(brand, target, source)
    hub = api.hub()

    for status in ("active", "blocked"):
        answer = hub.with_headers(idempotency_key=status).call(
            "PATCH",
            f"brand/members/{source.pk}",
            data=json.dumps({"status": status, "reason": "x"}).encode(),
        )
        assert error(answer) == (403, "MEMBER_BLOCKED")
    assert factories.account(source, brand).status == "merged"


# --- Personal data ---------------------------------------------------------------------------------------------------


def export_of(member, brand, topic="loyalty"):
    return json.loads("".join(personal_data.parts(user_id=member.pk, brand_id=brand.pk)))[topic]


def test_export_of_the_target_contains_entries_of_both_accounts(brand, target, source):
    factories.points(target, brand, 5, reason_id="shop:own")
    factories.points(source, brand, 10, reason_id="shop:other")
    account_merge = merge_accounts(brand, target, source)

    data = export_of(target, brand)

    reasons = {line["reason_id"] for line in data["transactions"]}
    assert {"shop:own", "shop:other", f"merge-in:{account_merge.pk}"} <= reasons
    assert [set(each) for each in data["merges"]] == [{"points", "created_at", "undone_at"}]  # without the note
    assert {line["reason_id"] for line in export_of(source, brand)["transactions"]} == {
        "shop:other",
        f"merge-out:{account_merge.pk}",
    }


def test_export_of_the_target_contains_transfers_and_referrals_of_both(brand, target, source):
    other = factories.account(factories.customer(brand), brand)
    account = factories.account(source, brand)
    factories.transfer(account, other, 3)
    factories.transfer(other, account, 4)
    rewarded = {"state": Referral.State.REWARDED, "referrer_points": 5, "friend_points": 5, "action": "scan"}
    at = timezone.now()
    Referral.objects.create(brand=brand, referrer=account, friend=other, decided_at=at, rewarded_at=at, **rewarded)
    merge_accounts(brand, target, source)

    data = export_of(target, brand)

    sent, received = (
        [float(each["points"]) for each in data[f"points_{direction}"]] for direction in ("given", "received")
    )
    assert (sent, received) == ([3], [4])
    assert [each["state"] for each in export_of(target, brand, "referrals")["friends"]] == ["rewarded"]


def erase(member, brand):
    return erasure.erase(
        user_id=member.pk, brand_id=brand.pk, audit_context=AuditContext(None, timezone.now(), reason="Wish")
    )


def test_erasing_the_target_erases_both_users(brand, target, source):
    emails = target.email, source.email
    factories.points(source, brand, 10)
    merge_accounts(brand, target, source)

    erase(target, brand)

    assert not User.objects.filter(email__in=emails).exists()
    assert not User.objects.filter(pk__in=[target.pk, source.pk], is_active=True).exists()
    assert AccountMerge.objects.get().note == ""
    assert shop.inconsistencies() == []


def test_erasing_the_source_leaves_the_target(brand, target, source):
    factories.points(source, brand, 10)
    merge_accounts(brand, target, source)

    erase(source, brand)

    assert User.objects.get(pk=target.pk).is_active
    assert not User.objects.get(pk=source.pk).is_active
    assert factories.account(target, brand).points == 10
    assert shop.inconsistencies() == []
    assert re.fullmatch(r"", AccountMerge.objects.get().note)


def test_comparison_shows_since_when_each_is_a_member_by_the_brands_clock(client, brand, target, source):
    Brand.objects.filter(pk=brand.pk).update(time_zone="Asia/Kolkata")
    UserPoints.objects.update(enrolled_at=datetime(2026, 3, 9, 20, tzinfo=UTC))

    assert f"User id {source.pk}, member since 10 Mar 2026" in text(look_up(client, brand, target, source.pk))
