"""Rewards that hand out codes of partners."""

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from brands.audit_log import AuditContext
from brands.models.audit import AuditLogEntry
from core.errors import DomainError
from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import PoolCode, Redemption
from loyalty.rewards import cancellation, pools, redeem
from loyalty.rewards.redeem import RedemptionRequest
from tests.support import factories
from tests.support.api import error
from tests.support.concurrency import at_once
from tests.support.imports import confirm, counts, faults, imported, preview, ticket_of, upload
from tests.support.portal import address, browser, staff, text
from tests.support.statements import altered

pytestmark = pytest.mark.usefixtures("media")

LABEL = "loyalty.poolcode"


@pytest.fixture
def reward(brand):
    return factories.reward(brand, name="Voucher", cost=10, uses_pool=True)


def fill(reward, *codes, expires_at=None):
    pools.add(
        PoolCode(
            brand=reward.brand,
            reward=reward,
            code=code,
            digest=pools.digest(code),
            ending=pools.ending(code),
            expires_at=expires_at,
        )
        for code in codes
    )


def member(brand, points=100):
    customer = factories.customer(brand)
    factories.points(customer, brand, points)
    return customer


def wish(customer, reward):
    return RedemptionRequest(reward.brand_id, customer.pk, reward.pk, uuid.uuid4(), timezone.now())


# --- Redeeming


def test_a_member_gets_the_partners_code(api, brand, reward):
    fill(reward, "PARTNER-1")
    customer_api = api.as_customer(member(brand))
    [offer] = customer_api.get("customer/loyalty/rewards").json()["data"]
    assert (offer["stock"], offer["available"]) == (1, True)

    answer = customer_api.post(f"customer/loyalty/rewards/{reward.pk}/redeem", idempotency_key="k")

    data = answer.json()["data"]
    assert (answer.status_code, data["code"], data["is_partner_code"]) == (201, "PARTNER-1", True)
    assert data["undo_until"] is None
    again = customer_api.post(f"customer/loyalty/rewards/{reward.pk}/redeem", idempotency_key="k")
    assert again.json()["data"]["code"] == "PARTNER-1"
    [listed] = customer_api.get("customer/loyalty/redemptions").json()["data"]
    assert (listed["code"], listed["is_partner_code"]) == ("PARTNER-1", True)
    [offer] = customer_api.get("customer/loyalty/rewards").json()["data"]
    assert (offer["stock"], offer["reason"]) == (0, "OUT_OF_STOCK")
    empty = customer_api.post(f"customer/loyalty/rewards/{reward.pk}/redeem", idempotency_key="l")
    assert error(empty) == (409, "OUT_OF_STOCK")


def test_codes_that_expire_first_go_first_and_expired_ones_never(brand, reward):
    at = timezone.now()
    fill(reward, "LATE")
    fill(reward, "GONE", expires_at=at - timedelta(seconds=1))
    fill(reward, "SOON", expires_at=at + timedelta(days=1))
    customer = member(brand)

    first, second = (redeem.redeem(wish(customer, reward)) for _ in range(2))

    assert [first.pool_code.code, second.pool_code.code] == ["SOON", "LATE"]
    assert first.expires_at == PoolCode.objects.get(digest=pools.digest("SOON")).expires_at
    with pytest.raises(DomainError, match="out of stock"):
        redeem.redeem(wish(customer, reward))


def test_a_code_that_somebody_has_seen_never_returns(api, brand, reward):
    fill(reward, "ONE")
    customer = member(brand)
    redemption = redeem.redeem(wish(customer, reward))
    undone = api.as_customer(customer).post(f"customer/loyalty/redemptions/{redemption.pk}/undo")
    assert error(undone)[1] == "UNDO_NOT_POSSIBLE"

    cancellation.cancel(
        redemption=redemption, audit_context=AuditContext(staff(brand), timezone.now(), reason="Voided by the partner")
    )

    assert factories.account(customer, brand).points == 100
    assert PoolCode.objects.get().redemption == redemption
    assert pools.stock_of(reward, at=timezone.now()) == 0


def test_other_rewards_hand_out_their_own_codes(api, brand):
    """Control."""
    plain = factories.reward(brand, cost=10)
    answer = api.as_customer(member(brand)).post(f"customer/loyalty/rewards/{plain.pk}/redeem", idempotency_key="k")

    data = answer.json()["data"]
    assert (data["is_partner_code"], len(data["code"])) == (False, 19)
    assert data["undo_until"] is not None


@pytest.mark.django_db(transaction=True)
def test_many_at_once_get_a_code_each(transactional_db):
    brand = factories.brand()
    reward = factories.reward(brand, cost=10, uses_pool=True)
    fill(reward, *(f"CODE-{number}" for number in range(10)))

    results = at_once(lambda customer: redeem.redeem(wish(customer, reward)), [member(brand) for _ in range(30)])

    taken = [each for each in results if isinstance(each, Redemption)]
    assert len({redemption.pool_code.code for redemption in taken}) == len(taken) == 10
    assert {each.code for each in results if isinstance(each, DomainError)} == {"OUT_OF_STOCK"}
    assert UserPoints.objects.filter(points=90).count() == 10


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_one_code_goes_to_two(transactional_db, monkeypatch):
    unguarded = altered(
        redeem.WRITE_REDEMPTION, ("redemption_id IS NULL\n       AND id =", "id ="), (" FOR UPDATE SKIP LOCKED", "")
    )
    monkeypatch.setattr(redeem, "WRITE_REDEMPTION", unguarded)
    brand = factories.brand()
    reward = factories.reward(brand, cost=10, uses_pool=True)
    fill(reward, *(f"CODE-{number}" for number in range(20)))

    at_once(lambda customer: redeem.redeem(wish(customer, reward)), [member(brand) for _ in range(30)])

    assert Redemption.objects.filter(pool_code=None).exists()


# --- Importing


def test_codes_come_as_a_file_and_are_shown_to_no_one(brand, reward):
    owner = staff(brand)
    content = "reward,code,expires_at\nVoucher,SECRET-0001,2190-01-31\nVoucher,SECRET-0002,\n"

    page = preview(owner, LABEL, brand, content)
    assert counts(page) == {"New": 2}
    assert "SECRET" not in text(page)
    confirm(owner, LABEL, ticket_of(page))

    codes = PoolCode.objects.order_by("pk")
    assert [code.code for code in codes] == ["SECRET-0001", "SECRET-0002"]
    assert codes[0].expires_at.isoformat().startswith("2190-01-31")
    stored = PoolCode.objects.extra(select={"raw": "code"}).values_list("raw", flat=True)
    assert not [raw for raw in stored if "SECRET" in raw]
    assert counts(preview(owner, LABEL, brand, content)) == {"Unchanged": 2}
    assert "SECRET" not in text(browser(owner).get(address(LABEL)))
    assert "•••001" in text(browser(owner).get(address(LABEL)))
    entries = AuditLogEntry.objects.filter(kind=LABEL)
    assert entries.count() == 2
    assert not [entry for entry in entries if "SECRET" in f"{entry.row_name}{entry.changes}"]


def test_bad_lines_are_said(brand, reward):
    factories.reward(brand, name="Mug")
    factories.reward(brand, name="Twin", uses_pool=True)
    twin = factories.reward(brand, name="Twin", uses_pool=True)
    factories.reward(factories.brand(), name="Theirs", uses_pool=True)
    fill(reward, "HAS")
    rows = [
        "Voucher,A,",
        "Voucher,A,",
        "Mug,B,",
        "Theirs,C,",
        "Twin,D,",
        f"#{twin.pk},E,",
        "Voucher,,2190-01-01",
        "Voucher,Ü,",
        f"Voucher,{'x' * 201},",
        "Voucher,F,2001-01-01",
        "Voucher,G,٢١٩٠-01-01",
        "Voucher,HAS,2190-01-01",
    ]

    found = faults(preview(staff(brand), LABEL, brand, "reward,code,expires_at\n" + "\n".join(rows)))

    assert {line: problem.split(":")[0] for line, problem in found.items()} == {
        2: "code",
        3: "code",
        4: "reward",
        5: "reward",
        6: "reward",
        8: "code",
        9: "code",
        10: "code",
        11: "expires_at",
        12: "expires_at",
        13: "expires_at",
    }


@pytest.mark.parametrize(("role", "status"), [("owner", 200), ("manager", 200), ("support", 403), ("printer", 403)])
def test_owners_and_managers_see_and_fill_pools(brand, reward, role, status):
    person = staff(brand, role=role)

    assert browser(person).get(address(LABEL)).status_code == status
    assert upload(person, LABEL, brand, "reward,code\nVoucher,A\n").status_code == (302 if status == 200 else 403)


def test_two_brands_may_have_the_same_code(brand, reward):
    other = factories.reward(factories.brand(), name="Voucher", uses_pool=True)
    fill(other, "SAME")

    assert imported(staff(brand), LABEL, brand, "reward,code\nVoucher,SAME\n").status_code == 302

    assert PoolCode.objects.filter(brand=brand).count() == 1
    assert browser(staff(brand)).get(address(LABEL, "import_export")).status_code == 404


def test_a_low_pool_is_marked(brand, reward):
    owner = staff(brand)
    assert "None left: import more" in text(browser(owner).get(address("loyalty.reward")))
    fill(reward, *map(str, range(10)))
    assert "10 left: import more" in text(browser(owner).get(address("loyalty.reward", "change", reward.pk)))
    fill(reward, "11th")
    assert "import more" not in text(browser(owner).get(address("loyalty.reward")))
