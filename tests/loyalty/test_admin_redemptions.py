"""The till, and what managers put right: over the portal's pages."""

from uuid import uuid4

import pytest
from django.urls import reverse
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import Redemption
from loyalty.rewards import codes, till
from tests.support import factories
from tests.support.portal import address, browser, staff, text

TILL = "admin:loyalty_redemption_till"


@pytest.fixture
def redemption(brand, customer):
    factories.points(customer, brand, 30)
    return factories.redemption(customer, factories.reward(brand, name="A mug", cost=10, stock=3))


@pytest.mark.parametrize("role", ["owner", "manager", "support"])
def test_till_shows_a_code_and_takes_it_once(brand, customer, redemption, role):
    client = browser(staff(brand, role=role))
    code = {"code": codes.grouped(redemption.code).lower()}

    shown = text(client.get(reverse(TILL), code))
    first = client.post(reverse(TILL), code, follow=True)
    second = client.post(reverse(TILL), code)

    assert "Hand over: A mug" in shown
    assert customer.email in shown  # as in every list that this role may see
    assert "Just handed over: A mug" in text(first)
    assert "already" in text(second)
    redemption.refresh_from_db()
    assert redemption.status == "used"
    assert AuditLogEntry.objects.filter(kind="loyalty.redemption").count() == 1


def test_till_tells_a_used_code_from_a_good_one(brand, redemption):
    person = staff(brand, role="support", first_name="Ada", last_name="Till")
    client, code = browser(person), {"code": redemption.code}

    good = client.get(reverse(TILL), code).content.decode()
    client.post(reverse(TILL), code)
    used = client.get(reverse(TILL), code)

    assert ("till-good" in good, "till-bad" in good) == (True, False)
    assert "Do not hand over: used" in text(used)
    assert "by Ada Till" in text(used)
    assert ("till-good" in used.content.decode(), "till-bad" in used.content.decode()) == (False, True)


def test_after_a_hand_over_the_till_is_ready_for_the_next_code(brand, redemption):
    done = browser(staff(brand)).post(reverse(TILL), {"code": redemption.code}, follow=True)

    assert codes.grouped(redemption.code) not in done.content.decode()
    assert "autofocus" in done.content.decode()
    assert "Do not hand over" not in text(done)


def test_whoever_handed_over_undoes_it_at_the_till_once(brand, redemption):
    client = browser(staff(brand, role="support"))
    client.post(reverse(TILL), {"code": redemption.code})

    undone = client.post(reverse(TILL), {"undo": redemption.pk}, follow=True)
    again = client.post(reverse(TILL), {"undo": redemption.pk}, follow=True)

    assert "Undone: A mug. The code is valid again." in text(undone)
    assert "can no longer be undone" in text(again)
    assert Redemption.objects.get().status == "issued"
    assert AuditLogEntry.objects.filter(kind="loyalty.redemption", reason="Undone at the till.").count() == 1


def test_nobody_undoes_at_the_till_what_others_handed_over_or_long_ago(brand, redemption, settings):
    mine, other = browser(staff(brand, role="support")), browser(staff(brand, role="support"))
    elsewhere = browser(staff(factories.brand(), role="support"))
    mine.post(reverse(TILL), {"code": redemption.code})

    for client, number in [(other, redemption.pk), (elsewhere, redemption.pk), (mine, "abc"), (mine, "9" * 30)]:
        assert "can no longer be undone" in text(client.post(reverse(TILL), {"undo": number}, follow=True))
    assert "Just handed over" not in text(other.get(reverse(TILL), {"done": redemption.pk}))
    settings.REDEMPTION_UNDO_MINUTES = 0
    assert "can no longer be undone" in text(mine.post(reverse(TILL), {"undo": redemption.pk}, follow=True))
    assert Redemption.objects.get().status == "used"


def test_only_the_till_may_use_the_camera(brand):
    client = browser(staff(brand))

    assert "camera=(self)" in client.get(reverse(TILL)).headers["Permissions-Policy"]
    assert "camera=()" in client.get(address("loyalty.redemption")).headers["Permissions-Policy"]


def test_till_is_closed_to_printers_and_to_other_brands(brand, redemption):
    assert browser(staff(brand, role="printer")).get(reverse(TILL)).status_code == 403
    elsewhere = browser(staff(factories.brand()))

    assert "Code not found" in text(elsewhere.post(reverse(TILL), {"code": redemption.code}))
    assert Redemption.objects.get().status == "issued"


def test_till_shows_that_a_member_is_blocked_and_takes_nothing(brand, redemption):
    brand.members.update(status="blocked")
    client = browser(staff(brand))

    shown = text(client.get(reverse(TILL), {"code": redemption.code}))
    refused = text(client.post(reverse(TILL), {"code": redemption.code}))

    assert "Member blocked" in shown
    assert "Mark as used" not in shown
    assert "account is blocked" in refused
    assert Redemption.objects.get().status == "issued"


def test_looking_up_uses_nothing(brand, redemption):
    browser(staff(brand)).get(reverse(TILL), {"code": redemption.code})

    assert Redemption.objects.get().status == "issued"


def test_manager_cancels_with_a_reason(brand, customer, redemption):
    client = browser(staff(brand, role="manager"))
    where = reverse("admin:loyalty_redemption_cancel", args=[redemption.pk])
    client.post(where, {"reason": ""})
    assert Redemption.objects.get().status == "issued"

    client.post(where, {"reason": "Ordered twice"})

    assert Redemption.objects.get().status == "cancelled"
    assert UserPoints.objects.get().points == 30
    assert AuditLogEntry.objects.get(kind="loyalty.redemption").reason == "Ordered twice"


def test_manager_takes_a_use_back(brand, redemption):
    till.use(redemption=redemption, at=timezone.now(), request=uuid4())
    client = browser(staff(brand, role="manager"))

    client.post(reverse("admin:loyalty_redemption_undo_use", args=[redemption.pk]), {"reason": "Wrong code"})

    assert Redemption.objects.get().status == "issued"


def test_support_puts_nothing_right(brand, redemption):
    client = browser(staff(brand, role="support"))

    assert (
        client.post(reverse("admin:loyalty_redemption_cancel", args=[redemption.pk]), {"reason": "x"}).status_code
        == 403
    )


def test_redemption_is_found_by_its_code(brand, customer, redemption):
    factories.redemption(customer, factories.reward(brand, name="Another", cost=1))
    shown = text(browser(staff(brand)).get(address("loyalty.redemption"), {"q": redemption.code.lower()}))

    assert "A mug" in shown
    assert "Another" not in shown
