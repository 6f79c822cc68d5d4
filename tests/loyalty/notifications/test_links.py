"""Links in notifications: they need no login, change nothing when opened, and cannot be forged."""

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


def link_path(brand, purpose, parameters):
    return "/" + rendering.address_of(brand, purpose, parameters).split("/", 3)[3]


@pytest.fixture
def opt_out_path(customer, brand):
    return link_path(brand, OPT_OUT, {"u": customer.pk, "b": brand.pk, "t": "points", "c": "email"})


def allows_points_by_email(customer, brand):
    return preferences.read(customer.pk, brand.pk).allows("points", "email")


def test_opening_the_opt_out_page_changes_nothing(browser, customer, brand, opt_out_path):
    response = browser.get(opt_out_path)

    assert response.status_code == 200
    assert f"Stop these messages from {brand.name} by e-mail?" in response.content.decode()
    assert "script-src" not in response["Content-Security-Policy"]
    assert "no-store" in response["Cache-Control"]
    assert not response.cookies
    assert allows_points_by_email(customer, brand)


def test_one_click_opts_out_of_the_topic_by_that_channel(browser, customer, brand, opt_out_path):
    answer = browser.post(opt_out_path, "List-Unsubscribe=One-Click", content_type="application/x-www-form-urlencoded")

    assert answer.status_code == 200
    assert "You will get no more" in answer.content.decode()
    assert preferences.read(customer.pk, brand.pk).opted_out == {"points/email"}


def test_page_is_in_the_customers_language_and_direction(browser, customer, brand, opt_out_path):
    preferences.change(customer.pk, brand.pk, language="ar", at=timezone.now())

    page = browser.get(opt_out_path).content.decode()

    assert '<html lang="ar" dir="rtl">' in page
    assert "إلغاء الاشتراك" in page


@pytest.mark.parametrize("page", ["opt-out", "acknowledge"])
@pytest.mark.parametrize("token", ["x", "a:b:c", "%00", "\u202e", "a" * 5000])
def test_link_without_a_valid_signature_is_not_found(browser, page, token):
    for method in (browser.get, browser.post):
        assert method(f"/notices/{page}/{token}").status_code == 404


def test_link_for_one_purpose_is_invalid_for_another(browser, customer, brand, opt_out_path):
    assert browser.post(opt_out_path.replace("opt-out", "acknowledge")).status_code == 404


@pytest.mark.parametrize(("name", "value"), [("u", 0), ("b", 10**9), ("c", "fax"), ("t", "gossip")])
def test_signed_link_with_unknown_parameters_is_not_found(browser, customer, brand, name, value):
    parameters = {"u": customer.pk, "b": brand.pk, "t": "points", "c": "email", name: value}
    token = signing.dumps(parameters, salt=OPT_OUT)

    assert browser.get(f"/notices/opt-out/{token}").status_code == 404
    assert browser.post(f"/notices/opt-out/{token}").status_code == 404


def test_recall_is_acknowledged_once_by_the_button(browser, customer, brand):
    payload = {"product_name": "Jacket", "message": "<b>Stop</b>", "recall_id": "R-1", "contact": "us"}
    notification = Notification.objects.create(
        brand=brand, user=customer, template="NOTIFY_RECALL", key="recall:1", payload=payload
    )
    acknowledge_path = link_path(brand, ACKNOWLEDGE, {"n": notification.pk})

    assert "&lt;b&gt;Stop&lt;/b&gt;" in browser.get(acknowledge_path).content.decode()
    notification.refresh_from_db()
    assert notification.acknowledged_at is None
    assert "Thank you" in browser.post(acknowledge_path).content.decode()
    notification.refresh_from_db()
    first_time = notification.acknowledged_at
    browser.post(acknowledge_path)
    notification.refresh_from_db()
    assert notification.acknowledged_at == first_time is not None


def test_opt_out_does_not_affect_another_brand(browser, customer, brand, opt_out_path):
    other_brand = factories.brand()

    browser.post(opt_out_path)

    assert allows_points_by_email(customer, other_brand)
