"""Portal pages of redemptions: the till, and corrections by managers."""

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

from brands import audit_log
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


def result_of(response):
    """The till's result for a code, without the texts for times without a connection."""
    return text(response).partition('id="till-result"')[2].partition('<div class="side">')[0]


@pytest.fixture
def redemption(brand, customer):
    factories.points(customer, brand, 30)
    return factories.redemption(customer, factories.reward(brand, name="A mug", cost=10, stock=3))


@pytest.mark.parametrize("role", ["owner", "manager", "support"])
def test_till_displays_a_code_and_marks_it_as_used_once(brand, customer, redemption, role):
    client = browser(staff(brand, role=role))
    code = {"code": codes.grouped(redemption.code).lower()}

    html = text(client.get(reverse(TILL), code))
    first = client.post(reverse(TILL), code, follow=True)
    second = client.post(reverse(TILL), code)

    assert "Hand over: A mug" in html
    assert customer.email in html  # each of these roles may see the address
    assert "Just handed over: A mug" in text(first)
    assert "already" in text(second)
    redemption.refresh_from_db()
    assert redemption.status == "used"
    assert AuditLogEntry.objects.filter(kind="loyalty.redemption").count() == 1


def test_use_is_undone_if_it_cannot_be_logged(brand, redemption, monkeypatch):
    def fail(**_entry):
        raise RuntimeError

    client = browser(staff(brand))
    monkeypatch.setattr(audit_log, "record", fail)

    with pytest.raises(RuntimeError):
        client.post(reverse(TILL), {"code": redemption.code})

    redemption.refresh_from_db()
    assert redemption.status == "issued"


def test_till_distinguishes_used_codes_from_valid_ones(brand, redemption):
    user = staff(brand, role="support", first_name="Ada", last_name="Till")
    client, code = browser(user), {"code": redemption.code}

    valid_page = client.get(reverse(TILL), code).content.decode()
    client.post(reverse(TILL), code)
    used_page = client.get(reverse(TILL), code)

    assert ("till-good" in valid_page, "till-bad" in valid_page) == (True, False)
    assert "Do not hand over: used" in text(used_page)
    assert "by Ada Till" in text(used_page)
    assert ("till-good" in used_page.content.decode(), "till-bad" in used_page.content.decode()) == (False, True)


def test_till_counts_todays_uses_by_the_clock_of_each_brand(customer, time_machine):
    """With two brands and none selected: just after midnight in India, which is still the day before in UTC."""
    time_machine.move_to("2026-03-09T18:35:00Z", tick=False)
    brands = [factories.brand(time_zone=zone) for zone in ("Asia/Kolkata", "UTC")]
    user, yesterday_in_india = staff(*brands), timezone.now() - timedelta(minutes=10)
    for brand in brands:
        for used_at in (yesterday_in_india, timezone.now()):
            member = factories.customer(brand)
            factories.points(member, brand, 30)
            redemption = factories.redemption(member, factories.reward(brand, cost=10))
            Redemption.objects.filter(pk=redemption.pk).update(status="used", used_by=user, used_at=used_at)

    assert browser(user).get(reverse(TILL)).context["today"] == 3


def test_till_is_ready_for_the_next_code_after_a_use(brand, redemption):
    response = browser(staff(brand)).post(reverse(TILL), {"code": redemption.code}, follow=True)

    assert codes.grouped(redemption.code) not in response.content.decode()
    assert "autofocus" in response.content.decode()
    assert "Do not hand over" not in result_of(response)
    assert "Just handed over: A mug" in result_of(response)


def test_last_five_own_uses_can_be_undone_and_the_days_uses_are_counted(brand, customer, redemption):
    client, other_client = browser(staff(brand, role="support")), browser(staff(brand, role="support"))
    reward = factories.reward(brand, name="A cup", cost=1)
    cups = [factories.redemption(customer, reward) for _ in range(6)]
    for redemption_to_use in [redemption, *cups]:
        client.post(reverse(TILL), {"code": redemption_to_use.code})

    html, other_html = text(client.get(reverse(TILL))), text(other_client.get(reverse(TILL)))

    assert (html.count('name="undo"'), other_html.count('name="undo"')) == (5, 0)
    assert "Handed over by you today: <strong>7</strong>" in html
    assert "Handed over by you today: <strong>0</strong>" in other_html
    assert "A mug" not in html  # the oldest
    client.post(reverse(TILL), {"undo": cups[-1].pk})
    assert "Handed over by you today: <strong>6</strong>" in text(client.get(reverse(TILL)))


def test_count_of_the_day_begins_at_midnight_in_the_brands_zone(brand, redemption):
    user = staff(brand, role="support")
    client = browser(user)
    brand.time_zone = "Pacific/Kiritimati"
    brand.save()
    client.post(reverse(TILL), {"code": redemption.code})
    midnight_today = midnight(timezone.now().astimezone(brand.zone).date(), brand.zone)

    for used_at, count in [(midnight_today, 1), (midnight_today - timedelta(seconds=1), 0)]:
        Redemption.objects.update(used_at=used_at)
        assert f"Handed over by you today: <strong>{count}</strong>" in text(client.get(reverse(TILL)))


def test_offline_list_contains_only_digests_of_the_brands_codes(brand, customer, redemption):
    used = factories.redemption(customer, factories.reward(brand, name="A cup", cost=1))
    other_brand = factories.brand()
    foreign_customer = factories.customer(other_brand)
    factories.points(foreign_customer, other_brand, 10)
    factories.redemption(foreign_customer, factories.reward(other_brand, cost=1))
    user = staff(brand, role="support")
    till.use(redemption=used, at=timezone.now(), request=uuid4())

    response = browser(user).get(reverse(CODES))

    digests = [sha256(each.code.encode()).hexdigest()[:32] for each in (used, redemption)]
    assert response.json() == {
        "is_allowed": True,
        "person": str(user.pk),
        "codes": [
            [digests[0], "A cup", "used", iso(used.expires_at)],
            [digests[1], "A mug", "good", iso(redemption.expires_at)],
        ],
    }
    assert "no-store" in response.headers["Cache-Control"]
    assert redemption.code not in text(response)
    assert customer.email not in text(response)


def test_offline_list_is_empty_if_the_brand_does_not_allow_it(brand, redemption):
    brand.till_works_offline = False
    brand.save()
    user = staff(brand, role="support")

    assert browser(user).get(reverse(CODES)).json() == {"is_allowed": False, "person": str(user.pk), "codes": []}


def test_offline_list_is_limited_to_the_newest_codes(brand, customer, redemption, monkeypatch):
    monkeypatch.setattr(offline, "MAX_CODES", 2)
    for _ in range(3):
        newest = factories.redemption(customer, factories.reward(brand, cost=1))
    with CaptureQueriesContext(connection) as few_queries:
        listed_codes = browser(staff(brand)).get(reverse(CODES)).json()["codes"]
    monkeypatch.setattr(offline, "MAX_CODES", 500)
    with CaptureQueriesContext(connection) as many_queries:
        browser(staff(brand)).get(reverse(CODES))

    assert len(listed_codes) == 2
    assert listed_codes[0][0] == sha256(newest.code.encode()).hexdigest()[:32]
    assert len(few_queries) == len(many_queries)


def test_offline_page_contains_no_user_brand_or_token(brand):
    user = staff(brand, role="support", first_name="Ada", last_name="Till")

    offline_page = text(browser(user).get(reverse(f"{TILL}_empty")))

    assert "Ada" not in offline_page
    assert user.email not in offline_page
    assert brand.name not in offline_page
    assert "csrfmiddlewaretoken" not in offline_page


def test_offline_page_contains_no_message_of_another_page(brand):
    client = browser(staff(brand, role="support"))
    client.post(reverse(TILL), {"undo": 1})  # the answer redirects, and the message waits for the next page

    assert "can no longer be undone" not in text(client.get(reverse(f"{TILL}_empty")))
    assert "can no longer be undone" in text(client.get(reverse(TILL)))


@pytest.mark.parametrize("part", ["", "_codes", "_empty"])
def test_printers_and_guests_have_no_access_to_any_till_page(brand, part):
    assert browser(staff(brand, role="printer")).get(reverse(TILL + part)).status_code == 403
    assert Client().get(reverse(TILL + part)).status_code == 302


def test_till_can_be_installed_as_an_app(brand):
    client = browser(staff(brand, role="support"))
    manifest = client.get(reverse(f"{TILL}_manifest")).json()
    worker = client.get(reverse(f"{TILL}_worker"))

    assert manifest["start_url"] == manifest["scope"] == reverse(TILL)
    assert [finders.find(icon["src"].removeprefix("/static/")) is not None for icon in manifest["icons"]] == [
        True,
        True,
    ]
    assert worker.headers["Service-Worker-Allowed"] == reverse(TILL)
    files = re.findall(r'"/static/([^"]+)"', text(worker))
    assert len(files) == 4
    assert [file for file in files if finders.find(file) is None] == []


def test_content_security_policy_of_the_till_allows_only_own_scripts(brand):
    policy = browser(staff(brand)).get(reverse(TILL)).headers["Content-Security-Policy"]

    assert "script-src 'self' 'wasm-unsafe-eval'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy
    assert "'unsafe-eval'" not in policy


def test_own_use_can_be_undone_once_at_the_till(brand, redemption):
    client = browser(staff(brand, role="support"))
    client.post(reverse(TILL), {"code": redemption.code})

    undone = client.post(reverse(TILL), {"undo": redemption.pk}, follow=True)
    repeated = client.post(reverse(TILL), {"undo": redemption.pk}, follow=True)

    assert "Undone: A mug. The code is valid again." in text(undone)
    assert "can no longer be undone" in text(repeated)
    assert Redemption.objects.get().status == "issued"
    assert AuditLogEntry.objects.filter(kind="loyalty.redemption", reason="Undone at the till.").count() == 1


def test_reason_of_an_undo_at_the_till_is_stored_in_english(brand, redemption):
    client = browser(staff(brand, role="support", portal_language="de"))
    client.post(reverse(TILL), {"code": redemption.code})

    client.post(reverse(TILL), {"undo": redemption.pk})

    assert AuditLogEntry.objects.filter(kind="loyalty.redemption", reason="Undone at the till.").count() == 1


def test_foreign_and_old_uses_cannot_be_undone_at_the_till(brand, redemption, settings):
    own_client, other_client = browser(staff(brand, role="support")), browser(staff(brand, role="support"))
    foreign_client = browser(staff(factories.brand(), role="support"))
    own_client.post(reverse(TILL), {"code": redemption.code})

    for client, redemption_id in [
        (other_client, redemption.pk),
        (foreign_client, redemption.pk),
        (own_client, "abc"),
        (own_client, "9" * 30),
    ]:
        assert "can no longer be undone" in text(client.post(reverse(TILL), {"undo": redemption_id}, follow=True))
    assert "Just handed over" not in text(other_client.get(reverse(TILL), {"done": redemption.pk}))
    settings.REDEMPTION_UNDO_MINUTES = 0
    assert "can no longer be undone" in text(own_client.post(reverse(TILL), {"undo": redemption.pk}, follow=True))
    assert Redemption.objects.get().status == "used"


def test_only_the_till_page_may_use_the_camera(brand):
    client = browser(staff(brand))

    assert "camera=(self)" in client.get(reverse(TILL)).headers["Permissions-Policy"]
    assert "camera=()" in client.get(address("loyalty.redemption")).headers["Permissions-Policy"]


def test_printers_have_no_till_and_other_brands_do_not_find_the_code(brand, redemption):
    assert browser(staff(brand, role="printer")).get(reverse(TILL)).status_code == 403
    foreign_client = browser(staff(factories.brand()))

    assert "Code not found" in text(foreign_client.post(reverse(TILL), {"code": redemption.code}))
    assert Redemption.objects.get().status == "issued"


def test_till_shows_a_blocked_member_and_rejects_the_code(brand, redemption):
    brand.members.update(status="blocked")
    client = browser(staff(brand))

    html = text(client.get(reverse(TILL), {"code": redemption.code}))
    rejected = text(client.post(reverse(TILL), {"code": redemption.code}))

    assert "Member blocked" in html
    assert "Mark as used" not in html
    assert "account is blocked" in rejected
    assert Redemption.objects.get().status == "issued"


def test_looking_a_code_up_does_not_use_it(brand, redemption):
    browser(staff(brand)).get(reverse(TILL), {"code": redemption.code})

    assert Redemption.objects.get().status == "issued"


def test_manager_can_cancel_a_redemption_with_a_reason(brand, customer, redemption):
    client = browser(staff(brand, role="manager"))
    url = reverse("admin:loyalty_redemption_cancel", args=[redemption.pk])
    client.post(url, {"reason": ""})
    assert Redemption.objects.get().status == "issued"

    client.post(url, {"reason": "Ordered twice"})

    assert Redemption.objects.get().status == "cancelled"
    assert UserPoints.objects.get().points == 30
    assert AuditLogEntry.objects.get(kind="loyalty.redemption").reason == "Ordered twice"


def test_manager_can_undo_a_use(brand, redemption):
    till.use(redemption=redemption, at=timezone.now(), request=uuid4())
    client = browser(staff(brand, role="manager"))

    client.post(reverse("admin:loyalty_redemption_undo_use", args=[redemption.pk]), {"reason": "Wrong code"})

    assert Redemption.objects.get().status == "issued"


def test_support_cannot_cancel_a_redemption(brand, redemption):
    client = browser(staff(brand, role="support"))

    assert (
        client.post(reverse("admin:loyalty_redemption_cancel", args=[redemption.pk]), {"reason": "x"}).status_code
        == 403
    )


def test_redemptions_can_be_searched_by_code(brand, customer, redemption):
    factories.redemption(customer, factories.reward(brand, name="Another", cost=1))
    html = text(browser(staff(brand)).get(address("loyalty.redemption"), {"q": redemption.code.lower()}))

    assert "A mug" in html
    assert "Another" not in html
