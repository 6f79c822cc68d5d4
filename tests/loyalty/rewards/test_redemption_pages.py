"""The till, and what managers put right: over the portal's pages."""

import re
from datetime import timedelta
from hashlib import sha256
from uuid import uuid4

import pytest
from django.contrib.staticfiles import finders
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from brands.tenants.local_time import midnight
from core.json_values import iso
from loyalty.admin.till import offline
from loyalty.models.accounts import UserPoints
from loyalty.models.rewards import Redemption
from loyalty.rewards import codes, till
from tests.support import factories
from tests.support.portal import address, browser, staff, text

TILL = "admin:loyalty_redemption_till"
CODES = "admin:loyalty_redemption_till_codes"


def result(answer):
    """What the till says of a code, without what it only says when there is no connection."""
    return text(answer).partition('id="till-result"')[2].partition('<div class="side">')[0]


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
    assert "Do not hand over" not in result(done)
    assert "Just handed over: A mug" in result(done)


def test_the_last_hand_overs_can_be_undone_and_the_shift_is_counted(brand, customer, redemption):
    client, other = browser(staff(brand, role="support")), browser(staff(brand, role="support"))
    reward = factories.reward(brand, name="A cup", cost=1)
    cups = [factories.redemption(customer, reward) for _ in range(6)]
    for each in [redemption, *cups]:
        client.post(reverse(TILL), {"code": each.code})

    shown, elsewhere = text(client.get(reverse(TILL))), text(other.get(reverse(TILL)))

    assert (shown.count('name="undo"'), elsewhere.count('name="undo"')) == (5, 0)
    assert "Handed over by you today: <strong>7</strong>" in shown
    assert "Handed over by you today: <strong>0</strong>" in elsewhere
    assert "A mug" not in shown  # the oldest
    client.post(reverse(TILL), {"undo": cups[-1].pk})
    assert "Handed over by you today: <strong>6</strong>" in text(client.get(reverse(TILL)))


def test_a_shift_begins_at_the_brands_midnight(brand, redemption):
    person = staff(brand, role="support")
    client = browser(person)
    brand.time_zone = "Pacific/Kiritimati"
    brand.save()
    client.post(reverse(TILL), {"code": redemption.code})
    today = midnight(timezone.now().astimezone(brand.zone).date(), brand.zone)

    for moment, number in [(today, 1), (today - timedelta(seconds=1), 0)]:
        Redemption.objects.update(used_at=moment)
        assert f"Handed over by you today: <strong>{number}</strong>" in text(client.get(reverse(TILL)))


def test_without_a_connection_the_till_knows_digests_alone(brand, customer, redemption):
    used = factories.redemption(customer, factories.reward(brand, name="A cup", cost=1))
    elsewhere = factories.brand()
    guest = factories.customer(elsewhere)
    factories.points(guest, elsewhere, 10)
    factories.redemption(guest, factories.reward(elsewhere, cost=1))
    person = staff(brand, role="support")
    till.use(redemption=used, at=timezone.now(), request=uuid4())

    answer = browser(person).get(reverse(CODES))

    digests = [sha256(each.code.encode()).hexdigest()[:32] for each in (used, redemption)]
    assert answer.json() == {
        "is_allowed": True,
        "person": str(person.pk),
        "codes": [
            [digests[0], "A cup", "used", iso(used.expires_at)],
            [digests[1], "A mug", "good", iso(redemption.expires_at)],
        ],
    }
    assert "no-store" in answer.headers["Cache-Control"]
    assert redemption.code not in text(answer)
    assert customer.email not in text(answer)


def test_a_till_keeps_no_list_where_the_brand_does_not_want_it(brand, redemption):
    brand.till_works_offline = False
    brand.save()
    person = staff(brand, role="support")

    assert browser(person).get(reverse(CODES)).json() == {"is_allowed": False, "person": str(person.pk), "codes": []}


def test_the_list_is_bounded(brand, customer, redemption, monkeypatch):
    monkeypatch.setattr(offline, "MAX_CODES", 2)
    for _ in range(3):
        newest = factories.redemption(customer, factories.reward(brand, cost=1))
    with CaptureQueriesContext(connection) as few:
        found = browser(staff(brand)).get(reverse(CODES)).json()["codes"]
    monkeypatch.setattr(offline, "MAX_CODES", 500)
    with CaptureQueriesContext(connection) as many:
        browser(staff(brand)).get(reverse(CODES))

    assert len(found) == 2
    assert found[0][0] == sha256(newest.code.encode()).hexdigest()[:32]
    assert len(few) == len(many)


def test_the_page_for_times_without_a_connection_names_nobody(brand):
    person = staff(brand, role="support", first_name="Ada", last_name="Till")

    empty = text(browser(person).get(reverse(f"{TILL}_empty")))

    assert "Ada" not in empty
    assert person.email not in empty
    assert brand.name not in empty
    assert "csrfmiddlewaretoken" not in empty


@pytest.mark.parametrize("part", ["", "_codes", "_empty"])
def test_no_part_of_the_till_is_open_to_printers_or_guests(brand, part):
    assert browser(staff(brand, role="printer")).get(reverse(TILL + part)).status_code == 403
    assert Client().get(reverse(TILL + part)).status_code == 302


def test_the_till_can_be_installed(brand):
    client = browser(staff(brand, role="support"))
    manifest = client.get(reverse(f"{TILL}_manifest")).json()
    worker = client.get(reverse(f"{TILL}_worker"))

    assert manifest["start_url"] == manifest["scope"] == reverse(TILL)
    assert [finders.find(each["src"].removeprefix("/static/")) is not None for each in manifest["icons"]] == [
        True,
        True,
    ]
    assert worker.headers["Service-Worker-Allowed"] == reverse(TILL)
    files = re.findall(r'"/static/([^"]+)"', text(worker))
    assert len(files) == 4
    assert [each for each in files if finders.find(each) is None] == []


def test_the_till_runs_no_script_but_its_own(brand):
    policy = browser(staff(brand)).get(reverse(TILL)).headers["Content-Security-Policy"]

    assert "script-src 'self' 'wasm-unsafe-eval'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert "'unsafe-eval'" not in policy


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
    clerk, other = browser(staff(brand, role="support")), browser(staff(brand, role="support"))
    elsewhere = browser(staff(factories.brand(), role="support"))
    clerk.post(reverse(TILL), {"code": redemption.code})

    for client, number in [(other, redemption.pk), (elsewhere, redemption.pk), (clerk, "abc"), (clerk, "9" * 30)]:
        assert "can no longer be undone" in text(client.post(reverse(TILL), {"undo": number}, follow=True))
    assert "Just handed over" not in text(other.get(reverse(TILL), {"done": redemption.pk}))
    settings.REDEMPTION_UNDO_MINUTES = 0
    assert "can no longer be undone" in text(clerk.post(reverse(TILL), {"undo": redemption.pk}, follow=True))
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
