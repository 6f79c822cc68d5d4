"""Portal pages of webhooks and external systems: secrets shown once, reasons required, deliveries sent again."""

from datetime import timedelta

import pytest
from django.contrib import admin
from django.test import Client
from django.utils import timezone

from brands.models.audit import AuditLogEntry
from loyalty.integrations import external_system, webhook_endpoints, webhook_events
from loyalty.models.external_system import ExternalSystem
from loyalty.models.webhooks import WebhookDelivery, WebhookEndpoint
from tests.loyalty.integrations.webhooks import send
from tests.support import factories
from tests.support.fakes.fake_http import receiver, reset_breakers
from tests.support.portal import address, browser, errors, staff, text

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def loopback_allowed(settings):
    settings.OUTGOING_PRIVATE_NETWORKS = ["127.0.0.0/8"]
    reset_breakers()


@pytest.fixture
def client(brand):
    return browser(staff(brand, role="manager"))


@pytest.fixture
def shop():
    with receiver() as server:
        yield server


@pytest.fixture
def hook(brand, shop):
    return webhook_endpoints.create(brand=brand, url=shop.url, types=["points.earned"], at=timezone.now())[0]


def url_of(row, action="change"):
    return address(row._meta.label_lower, action, row.pk)


@pytest.mark.parametrize(
    ("form_data", "field"),
    [
        ({"url": "https://10.0.0.1/"}, "url"),
        ({"url": "gopher://shop.example/"}, "url"),
        ({"types": []}, "types"),
        ({"types": ["points.stolen"]}, "types"),
    ],
)
def test_invalid_input_is_an_error_of_its_field(client, brand, form_data, field):
    valid = {"brand": brand.pk, "url": "https://shop.example/", "types": ["points.earned"]}
    response = client.post(address("loyalty.webhookendpoint", "add"), {**valid, **form_data})

    assert set(errors(response)) == {field}
    assert not WebhookEndpoint.objects.exists()


def test_rotated_secret_is_displayed_once_and_not_in_the_audit_log(client, hook):
    old = hook.secret
    html = text(client.post(url_of(hook, "rotate"), {"hours": 24, "reason": "Yearly"}))
    hook.refresh_from_db()

    assert hook.secret in html
    assert hook.previous_secret == old
    pages = (
        text(client.get(url_of(hook)))
        + text(client.get(url_of(hook, "history")))
        + str(list(AuditLogEntry.objects.values()))
    )
    assert hook.secret not in pages
    assert old not in pages
    assert AuditLogEntry.objects.filter(action="Secret rotated", reason="Yearly").exists()


def test_test_message_redirects_to_its_page_with_live_columns(client, hook, shop):
    assert 'name="reason"' not in client.get(url_of(hook, "ping")).content.decode()
    response = client.post(url_of(hook, "ping"), follow=True)
    [delivery] = WebhookDelivery.objects.all()
    live_columns = [
        f'data-live-row="{delivery.pk}" data-live-column="{name}"' in text(response) for name in ("ended", "calls")
    ]
    assert (response.status_code, live_columns, "Waiting" in text(response)) == (200, [True, True], True)

    send()
    query = {"id": delivery.pk, "column": ["ended", "calls"]}
    columns = client.get(address("loyalty.webhookdelivery", "live"), query).json()["rows"][0]["columns"]
    html = text(client.get(url_of(delivery)))
    assert ("Delivered" in columns["ended"], "data-live-row" in columns["calls"]) == (True, False)
    assert ("data-live-row" in html, "Delivered" in html, len(shop.calls)) == (False, True, 1)


def test_attempts_are_shown_in_the_brands_zone_also_when_they_are_live(client, brand, hook):
    brand.time_zone = "Asia/Kolkata"
    brand.save()
    delivery = webhook_events.ping(endpoint=hook, at=timezone.now())
    send()

    live = client.get(address("loyalty.webhookdelivery", "live"), {"id": delivery.pk, "column": "calls"})

    [attempt] = delivery.calls.all()
    expected_time = f"{attempt.at.astimezone(brand.zone):%H:%M} IST"
    assert expected_time in text(live)
    assert expected_time in text(client.get(url_of(delivery)))


def test_delivery_that_waits_for_hours_has_no_live_columns(client, hook):
    delivery = webhook_events.ping(endpoint=hook, at=timezone.now() - timedelta(hours=1))
    WebhookDelivery.objects.update(attempts=3, next_attempt_at=timezone.now() + timedelta(hours=2))

    assert "data-live-row" not in text(client.get(url_of(delivery)))


def test_page_of_a_row_read_before_the_attempt_is_consistent(hook, shop):
    stale_row = webhook_events.ping(endpoint=hook, at=timezone.now())
    send()
    model_admin = admin.site._registry[WebhookDelivery]

    assert "No attempts yet" not in model_admin.calls(WebhookDelivery.objects.get())
    assert ("Waiting" in model_admin.ended(stale_row), "No attempts yet" in model_admin.calls(stale_row)) == (
        True,
        True,
    )


def test_delivery_can_be_resent_from_its_page_and_from_the_list(client, hook, shop):
    delivery = webhook_events.ping(endpoint=hook, at=timezone.now())
    send()
    client.post(url_of(delivery, "resend"))
    send()
    client.post(
        address("loyalty.webhookdelivery"), {"action": "resend_chosen", "_selected_action": [delivery.pk], "index": 0}
    )
    send()

    assert len({call.headers["webhook-id"] for call in shop.calls}) == 1
    assert len(shop.calls) == 3


def test_opening_the_resend_page_sends_nothing(client, hook, shop):
    delivery = webhook_events.ping(endpoint=hook, at=timezone.now())
    send()

    response = client.get(url_of(delivery, "resend"))
    send()

    assert "sent again with the same id" in text(response)
    assert 'method="post"' in text(response)
    assert len(shop.calls) == 1


def test_resending_requires_a_csrf_token(client, hook, shop):
    delivery = webhook_events.ping(endpoint=hook, at=timezone.now())
    send()
    csrf_client = Client(enforce_csrf_checks=True)
    csrf_client.cookies = client.cookies

    assert csrf_client.post(url_of(delivery, "resend")).status_code == 403
    send()
    assert len(shop.calls) == 1


def test_delivery_about_an_erased_customer_cannot_be_resent(client, hook, shop):
    delivery = webhook_events.ping(endpoint=hook, at=timezone.now())
    WebhookDelivery.objects.update(state="dropped", body="")

    response = client.post(url_of(delivery, "resend"), follow=True)

    assert "a customer whose data was erased" in text(response)
    assert "Not sent: 1" in text(response)
    assert shop.calls == []


def test_disabling_and_enabling_require_a_reason_and_are_audited(client, hook):
    client.post(url_of(hook, "stop"), {"reason": ""})
    hook.refresh_from_db()
    assert hook.is_active

    client.post(url_of(hook, "stop"), {"reason": "Moving"})
    hook.refresh_from_db()
    assert hook.state == "disabled"

    client.post(url_of(hook, "start"), {"reason": "Moved"})
    hook.refresh_from_db()
    assert hook.is_active
    assert list(AuditLogEntry.objects.order_by("id").values_list("reason", flat=True)) == ["Moving", "Moved"]


@pytest.mark.parametrize("role", ["support", "printer"])
def test_support_and_printers_have_no_access_to_webhooks(brand, hook, role):
    other_staff = browser(staff(brand, role=role))

    assert other_staff.get(url_of(hook)).status_code in {403, 404}
    assert other_staff.post(url_of(hook, "rotate"), {"hours": 0, "reason": "x"}).status_code in {403, 404}


def test_webhook_of_another_brand_is_not_found(hook):
    foreign_staff = browser(staff(factories.brand()))

    for action in ("rotate", "ping", "stop"):
        assert foreign_staff.post(url_of(hook, action), {"hours": 0, "reason": "x"}).status_code == 404


def test_external_system_can_be_created_tested_and_monitored(client, brand, shop):
    options = {"when_rejected": "hold", "when_away": "proceed", "is_active": "on"}
    response = client.post(address("loyalty.externalsystem", "add"), {"brand": brand.pk, "url": shop.url, **options})
    system = ExternalSystem.objects.get()
    assert system.secret in text(response)

    shop.decides(decision="proceed")
    response = client.post(url_of(system, "try_out"), {"reason": "Try"}, follow=True)
    assert "credit the points." in text(response)

    shop.answers(500)
    response = client.post(url_of(system, "try_out"), {"reason": "Try"}, follow=True)
    assert "It answered 500." in text(response)

    for _ in range(5):
        external_system.breaker_of(system).failed()
    assert "Requests are paused" in text(client.get(url_of(system)))


def test_changed_setting_of_the_external_system_is_audited(client, brand):
    options = {"when_rejected": "hold", "when_away": "hold", "is_active": True}
    system, _secret = external_system.create(brand=brand, url="https://erp.example/", **options)
    form_data = {"url": "https://erp.example/", "when_rejected": "refuse", "when_away": "hold", "is_active": "on"}
    client.post(url_of(system), form_data)
    system.refresh_from_db()

    assert system.when_rejected == "refuse"
    assert AuditLogEntry.objects.get().changes == {"when_rejected": ["hold", "refuse"]}
