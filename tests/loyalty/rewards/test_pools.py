"""Rewards with codes of partners from a pool."""

import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from brands.audit_log import AuditContext
from brands.models.audit import AuditLogEntry
from core.errors import DomainError
from jobs.models import StagedUpload
from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import PoolCode, Redemption
from loyalty.rewards import cancellation, pools, redeem
from loyalty.rewards.redeem import RedemptionRequest
from tests.support import factories
from tests.support.api import error
from tests.support.concurrency import run_concurrently
from tests.support.imports import confirm, counts, import_file, line_errors, preview, ticket_of, upload
from tests.support.portal import address, browser, staff, text
from tests.support.statements import with_replacements

pytestmark = pytest.mark.usefixtures("media")

LABEL = "loyalty.poolcode"


@pytest.fixture
def reward(brand):
    return factories.reward(brand, name="Voucher", cost=10, uses_pool=True)


def add_codes(reward, *codes, expires_at=None):
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


def redemption_request(customer, reward):
    return RedemptionRequest(reward.brand_id, customer.pk, reward.pk, uuid.uuid4(), timezone.now())


# --- Redeeming


def test_member_gets_a_partner_code_from_the_pool(api, brand, reward):
    add_codes(reward, "PARTNER-1")
    customer_api = api.as_customer(member(brand))
    [listed_reward] = customer_api.get("customer/loyalty/rewards").json()["data"]
    assert (listed_reward["stock"], listed_reward["available"]) == (1, True)

    response = customer_api.post(f"customer/loyalty/rewards/{reward.pk}/redeem", idempotency_key="k")

    data = response.json()["data"]
    assert (response.status_code, data["code"], data["is_partner_code"]) == (201, "PARTNER-1", True)
    assert data["undo_until"] is None
    repeated = customer_api.post(f"customer/loyalty/rewards/{reward.pk}/redeem", idempotency_key="k")
    assert repeated.json()["data"]["code"] == "PARTNER-1"
    [listed_redemption] = customer_api.get("customer/loyalty/redemptions").json()["data"]
    assert (listed_redemption["code"], listed_redemption["is_partner_code"]) == ("PARTNER-1", True)
    [listed_reward] = customer_api.get("customer/loyalty/rewards").json()["data"]
    assert (listed_reward["stock"], listed_reward["reason"]) == (0, "OUT_OF_STOCK")
    rejected = customer_api.post(f"customer/loyalty/rewards/{reward.pk}/redeem", idempotency_key="l")
    assert error(rejected) == (409, "OUT_OF_STOCK")


def test_code_that_expires_first_is_issued_first_and_expired_ones_never(brand, reward):
    at = timezone.now()
    add_codes(reward, "LATE")
    add_codes(reward, "GONE", expires_at=at - timedelta(seconds=1))
    add_codes(reward, "SOON", expires_at=at + timedelta(days=1))
    customer = member(brand)

    first, second = (redeem.redeem(redemption_request(customer, reward)) for _ in range(2))

    assert [first.pool_code.code, second.pool_code.code] == ["SOON", "LATE"]
    assert first.expires_at == PoolCode.objects.get(digest=pools.digest("SOON")).expires_at
    with pytest.raises(DomainError, match="out of stock"):
        redeem.redeem(redemption_request(customer, reward))


def test_issued_code_does_not_return_to_the_pool(api, brand, reward):
    add_codes(reward, "ONE")
    customer = member(brand)
    redemption = redeem.redeem(redemption_request(customer, reward))
    undo_response = api.as_customer(customer).post(f"customer/loyalty/redemptions/{redemption.pk}/undo")
    assert error(undo_response)[1] == "UNDO_NOT_POSSIBLE"

    cancellation.cancel(
        redemption=redemption, audit_context=AuditContext(staff(brand), timezone.now(), reason="Voided by the partner")
    )

    assert factories.account(customer, brand).points == 100
    assert PoolCode.objects.get().redemption == redemption
    assert pools.stock_of(reward, at=timezone.now()) == 0


def test_partner_code_is_not_handed_over_on_the_members_page(brand, reward):
    add_codes(reward, "ONE")
    customer = member(brand)
    redemption = redeem.redeem(redemption_request(customer, reward))
    own = factories.redemption(customer, factories.reward(brand, name="A mug", cost=10))
    client, account = browser(staff(brand)), factories.account(customer, brand)

    gift = {"reward": reward.pk, "reason": "Broken parcel", "key": str(uuid.uuid4())}
    add_codes(reward, "TWO")
    gift_page = client.post(address("loyalty.userpoints", "give_reward", account.pk), gift, follow=True)
    [code] = client.get(address("loyalty.userpoints", "change", account.pk)).context["open_codes"]
    posted = {"redemption": redemption.pk, "key": str(uuid.uuid4())}
    answer = client.post(address("loyalty.userpoints", "use", account.pk), posted, follow=True)

    assert "Voucher now belongs to the member, who sees the partner&#x27;s code in the app." in text(gift_page)
    assert code.redemption == own.pk
    assert "This member has no such code." in text(answer)
    redemption.refresh_from_db()
    assert redemption.status == Redemption.Status.ISSUED


def test_reward_without_a_pool_issues_own_codes(api, brand):
    """Control: a reward without a pool."""
    reward_without_pool = factories.reward(brand, cost=10)
    response = api.as_customer(member(brand)).post(
        f"customer/loyalty/rewards/{reward_without_pool.pk}/redeem", idempotency_key="k"
    )

    data = response.json()["data"]
    assert (data["is_partner_code"], len(data["code"])) == (False, 19)
    assert data["undo_until"] is not None


@pytest.mark.django_db(transaction=True)
def test_concurrent_redemptions_get_different_codes(transactional_db):
    brand = factories.brand()
    reward = factories.reward(brand, cost=10, uses_pool=True)
    add_codes(reward, *(f"CODE-{number}" for number in range(10)))

    results = run_concurrently(
        lambda customer: redeem.redeem(redemption_request(customer, reward)), [member(brand) for _ in range(30)]
    )

    redemptions = [result for result in results if isinstance(result, Redemption)]
    assert len({redemption.pool_code.code for redemption in redemptions}) == len(redemptions) == 10
    assert {result.code for result in results if isinstance(result, DomainError)} == {"OUT_OF_STOCK"}
    assert UserPoints.objects.filter(points=90).count() == 10


@pytest.mark.django_db(transaction=True)
def test_control_without_the_lock_one_code_is_issued_to_two_members(transactional_db, monkeypatch):
    unguarded = with_replacements(
        redeem.WRITE_REDEMPTION, ("redemption_id IS NULL\n       AND id =", "id ="), (" FOR UPDATE SKIP LOCKED", "")
    )
    monkeypatch.setattr(redeem, "WRITE_REDEMPTION", unguarded)
    brand = factories.brand()
    reward = factories.reward(brand, cost=10, uses_pool=True)
    add_codes(reward, *(f"CODE-{number}" for number in range(20)))

    run_concurrently(
        lambda customer: redeem.redeem(redemption_request(customer, reward)), [member(brand) for _ in range(30)]
    )

    assert Redemption.objects.filter(pool_code=None).exists()


# --- Importing


def test_imported_codes_are_encrypted_and_never_displayed(brand, reward):
    owner = staff(brand)
    content = "reward,code,expires_at\nVoucher,SECRET-0001,2190-01-31\nVoucher,SECRET-0002,\n"

    preview_page = preview(owner, LABEL, brand, content)
    assert counts(preview_page) == {"New": 2}
    assert "SECRET" not in text(preview_page)
    confirm(owner, LABEL, ticket_of(preview_page))

    codes = PoolCode.objects.order_by("pk")
    assert [code.code for code in codes] == ["SECRET-0001", "SECRET-0002"]
    assert codes[0].expires_at.isoformat().startswith("2190-01-31")
    stored_codes = PoolCode.objects.extra(select={"raw": "code"}).values_list("raw", flat=True)
    assert not [stored_code for stored_code in stored_codes if "SECRET" in stored_code]
    assert "SECRET" not in str(StagedUpload.objects.get().preview)
    assert counts(preview(owner, LABEL, brand, content)) == {"Unchanged": 2}
    assert "SECRET" not in text(browser(owner).get(address(LABEL)))
    assert "•••001" in text(browser(owner).get(address(LABEL)))
    entries = AuditLogEntry.objects.filter(kind=LABEL)
    assert entries.count() == 2
    assert not [entry for entry in entries if "SECRET" in f"{entry.row_name}{entry.changes}"]


def test_preview_of_a_faulty_line_masks_its_code(brand, reward):
    page = preview(staff(brand), LABEL, brand, "reward,code\nMissing,SECRET-0001\n")

    assert line_errors(page).keys() == {2}
    assert "Missing, •••001" in text(page)
    assert "SECRET" not in f"{text(page)}{StagedUpload.objects.get().preview}"


def test_expired_code_in_the_pool_stays_unchanged(brand, reward, time_machine):
    content = "reward,code,expires_at\nVoucher,OLD-0001,2030-01-31\n"
    import_file(staff(brand), LABEL, brand, content)
    time_machine.move_to("2030-03-01T00:00:00Z", tick=False)

    page = preview(staff(brand), LABEL, brand, content + "Voucher,NEW-0001,2030-12-31\n")

    assert counts(page) == {"New": 1, "Unchanged": 1}


def test_import_reports_invalid_lines(brand, reward):
    factories.reward(brand, name="Mug")
    factories.reward(brand, name="Twin", uses_pool=True)
    twin = factories.reward(brand, name="Twin", uses_pool=True)
    factories.reward(factories.brand(), name="Theirs", uses_pool=True)
    add_codes(reward, "HAS")
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

    problems = line_errors(preview(staff(brand), LABEL, brand, "reward,code,expires_at\n" + "\n".join(rows)))

    assert {line: problem.split(":")[0] for line, problem in problems.items()} == {
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
def test_only_owners_and_managers_can_view_and_import_codes(brand, reward, role, status):
    user = staff(brand, role=role)

    assert browser(user).get(address(LABEL)).status_code == status
    assert upload(user, LABEL, brand, "reward,code\nVoucher,A\n").status_code == (302 if status == 200 else 403)


def test_same_code_may_exist_at_two_brands(brand, reward):
    foreign_reward = factories.reward(factories.brand(), name="Voucher", uses_pool=True)
    add_codes(foreign_reward, "SAME")

    assert import_file(staff(brand), LABEL, brand, "reward,code\nVoucher,SAME\n").status_code == 302

    assert PoolCode.objects.filter(brand=brand).count() == 1
    assert browser(staff(brand)).get(address(LABEL, "import_export")).status_code == 404


def test_pool_with_few_codes_has_a_hint(brand, reward):
    owner = staff(brand)
    assert "None left: import more" in text(browser(owner).get(address("loyalty.reward")))
    add_codes(reward, *map(str, range(10)))
    assert "10 left: import more" in text(browser(owner).get(address("loyalty.reward", "change", reward.pk)))
    add_codes(reward, "11th")
    assert "import more" not in text(browser(owner).get(address("loyalty.reward")))
