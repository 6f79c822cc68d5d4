"""The links in notices: no login, no change by looking, and nothing for who made one up."""

import pytest
from django.core import signing
from django.test import Client
from django.utils import timezone

from loyalty.models.notifications import Notification
from loyalty.notifications import preferences, rendering
from loyalty.notifications.rendering import ACKNOWLEDGE, OPT_OUT
from tests.support import factories

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser():
    return Client(enforce_csrf_checks=True)


def path(brand, purpose, parameters):
    return "/" + rendering.address_of(brand, purpose, parameters).split("/", 3)[3]


@pytest.fixture
def stop(customer, brand):
    return path(brand, OPT_OUT, {"u": customer.pk, "b": brand.pk, "t": "points", "c": "email"})


def wants(customer, brand):
    return preferences.read(customer.pk, brand.pk).allows("points", "email")


def test_looking_at_the_opt_out_changes_nothing(browser, customer, brand, stop):
    shown = browser.get(stop)

    assert shown.status_code == 200
    assert f"Stop these messages from {brand.name} by e-mail?" in shown.content.decode()
    assert "script-src" not in shown["Content-Security-Policy"]
    assert "no-store" in shown["Cache-Control"]
    assert not shown.cookies
    assert wants(customer, brand)


def test_one_click_stops_the_topic_by_that_channel(browser, customer, brand, stop):
    answer = browser.post(stop, "List-Unsubscribe=One-Click", content_type="application/x-www-form-urlencoded")

    assert answer.status_code == 200
    assert "You will get no more" in answer.content.decode()
    assert preferences.read(customer.pk, brand.pk).opted_out == {"points/email"}


def test_the_page_speaks_the_customers_language_from_its_side(browser, customer, brand, stop):
    preferences.change(customer.pk, brand.pk, language="ar", at=timezone.now())

    shown = browser.get(stop).content.decode()

    assert '<html lang="ar" dir="rtl">' in shown
    assert "إلغاء الاشتراك" in shown


@pytest.mark.parametrize("page", ["opt-out", "acknowledge"])
@pytest.mark.parametrize("token", ["x", "a:b:c", "%00", "\u202e", "a" * 5000])
def test_a_link_that_we_did_not_sign_leads_nowhere(browser, page, token):
    for call in (browser.get, browser.post):
        assert call(f"/notices/{page}/{token}").status_code == 404


def test_a_link_for_one_thing_does_not_open_another(browser, customer, brand, stop):
    assert browser.post(stop.replace("opt-out", "acknowledge")).status_code == 404


@pytest.mark.parametrize(("name", "value"), [("u", 0), ("b", 10**9), ("c", "fax"), ("t", "gossip")])
def test_a_link_about_what_is_gone_leads_nowhere(browser, customer, brand, name, value):
    parameters = {"u": customer.pk, "b": brand.pk, "t": "points", "c": "email", name: value}
    token = signing.dumps(parameters, salt=OPT_OUT)

    assert browser.get(f"/notices/opt-out/{token}").status_code == 404
    assert browser.post(f"/notices/opt-out/{token}").status_code == 404


def test_a_recall_is_acknowledged_by_the_button_and_once(browser, customer, brand):
    facts = {"product_name": "Jacket", "message": "<b>Stop</b>", "recall_id": "R-1", "contact": "us"}
    notification = Notification.objects.create(
        brand=brand, user=customer, template="NOTIFY_RECALL", key="recall:1", payload=facts
    )
    its = path(brand, ACKNOWLEDGE, {"n": notification.pk})

    assert "&lt;b&gt;Stop&lt;/b&gt;" in browser.get(its).content.decode()
    notification.refresh_from_db()
    assert notification.acknowledged_at is None
    assert "Thank you" in browser.post(its).content.decode()
    notification.refresh_from_db()
    first = notification.acknowledged_at
    browser.post(its)
    notification.refresh_from_db()
    assert notification.acknowledged_at == first is not None


def test_another_brands_wishes_stay(browser, customer, brand, stop):
    other = factories.brand()

    browser.post(stop)

    assert wants(customer, other)
