"""The portal's pages of webhooks and of external systems: secrets shown once, acts asked why, messages sent again."""

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
    with receiver() as running:
        yield running


@pytest.fixture
def hook(brand, shop):
    return webhook_endpoints.create(brand=brand, url=shop.url, types=["points.earned"], at=timezone.now())[0]


def its(row, what="change"):
    return address(row._meta.label_lower, what, row.pk)


@pytest.mark.parametrize(
    ("sent", "named"),
    [
        ({"url": "https://10.0.0.1/"}, "url"),
        ({"url": "gopher://shop.example/"}, "url"),
        ({"types": []}, "types"),
        ({"types": ["points.stolen"]}, "types"),
    ],
)
def test_bad_input_is_told_at_its_field(client, brand, sent, named):
    plain = {"brand": brand.pk, "url": "https://shop.example/", "types": ["points.earned"]}
    refused = client.post(address("loyalty.webhookendpoint", "add"), {**plain, **sent})

    assert set(errors(refused)) == {named}
    assert not WebhookEndpoint.objects.exists()


def test_a_rotated_secret_is_shown_once_and_kept_out_of_the_audit_trail(client, hook):
    old = hook.secret
    shown = text(client.post(its(hook, "rotate"), {"hours": 24, "reason": "Yearly"}))
    hook.refresh_from_db()

    assert hook.secret in shown
    assert hook.previous_secret == old
    pages = (
        text(client.get(its(hook))) + text(client.get(its(hook, "history"))) + str(list(AuditLogEntry.objects.values()))
    )
    assert hook.secret not in pages
    assert old not in pages
    assert AuditLogEntry.objects.filter(action="Secret rotated", reason="Yearly").exists()


def test_a_test_message_leads_to_its_own_page_which_follows_it(client, hook, shop):
    assert 'name="reason"' not in client.get(its(hook, "ping")).content.decode()
    sent = client.post(its(hook, "ping"), follow=True)
    [message] = WebhookDelivery.objects.all()
    followed = [f'data-live-row="{message.pk}" data-live-column="{name}"' in text(sent) for name in ("ended", "calls")]
    assert (sent.status_code, followed, "Waiting" in text(sent)) == (200, [True, True], True)

    send()
    query = {"id": message.pk, "column": ["ended", "calls"]}
    columns = client.get(address("loyalty.webhookdelivery", "live"), query).json()["rows"][0]["columns"]
    page = text(client.get(its(message)))
    assert ("Delivered" in columns["ended"], "data-live-row" in columns["calls"]) == (True, False)
    assert ("data-live-row" in page, "Delivered" in page, len(shop.calls)) == (False, True, 1)


def test_a_message_that_waits_for_hours_is_not_followed(client, hook):
    message = webhook_events.ping(endpoint=hook, at=timezone.now() - timedelta(hours=1))
    WebhookDelivery.objects.update(attempts=3, next_attempt_at=timezone.now() + timedelta(hours=2))

    assert "data-live-row" not in text(client.get(its(message)))


def test_a_page_that_was_read_before_the_attempt_shows_neither_its_answer_nor_its_end(hook, shop):
    read_before = webhook_events.ping(endpoint=hook, at=timezone.now())
    send()
    page = admin.site._registry[WebhookDelivery]

    assert "No attempts yet" not in page.calls(WebhookDelivery.objects.get())
    assert ("Waiting" in page.ended(read_before), "No attempts yet" in page.calls(read_before)) == (True, True)


def test_a_message_is_sent_again_from_its_page_and_from_the_list(client, hook, shop):
    message = webhook_events.ping(endpoint=hook, at=timezone.now())
    send()
    client.post(its(message, "resend"))
    send()
    client.post(
        address("loyalty.webhookdelivery"), {"action": "resend_chosen", "_selected_action": [message.pk], "index": 0}
    )
    send()

    assert len({call.headers["webhook-id"] for call in shop.calls}) == 1
    assert len(shop.calls) == 3


def test_opening_the_page_that_sends_again_sends_nothing(client, hook, shop):
    message = webhook_events.ping(endpoint=hook, at=timezone.now())
    send()

    page = client.get(its(message, "resend"))
    send()

    assert "sent again with the same id" in text(page)
    assert 'method="post"' in text(page)
    assert len(shop.calls) == 1


def test_a_form_of_another_site_sends_nothing_again(client, hook, shop):
    message = webhook_events.ping(endpoint=hook, at=timezone.now())
    send()
    elsewhere = Client(enforce_csrf_checks=True)
    elsewhere.cookies = client.cookies

    assert elsewhere.post(its(message, "resend")).status_code == 403
    send()
    assert len(shop.calls) == 1


def test_a_message_about_an_erased_person_says_so_and_is_not_sent_again(client, hook, shop):
    message = webhook_events.ping(endpoint=hook, at=timezone.now())
    WebhookDelivery.objects.update(state="dropped", body="")

    page = client.post(its(message, "resend"), follow=True)

    assert "a customer whose data was erased" in text(page)
    assert "Not sent: 1" in text(page)
    assert shop.calls == []


def test_disabling_and_enabling_are_asked_why_and_written_down(client, hook):
    client.post(its(hook, "stop"), {"reason": ""})
    hook.refresh_from_db()
    assert hook.is_active

    client.post(its(hook, "stop"), {"reason": "Moving"})
    hook.refresh_from_db()
    assert hook.state == "disabled"

    client.post(its(hook, "start"), {"reason": "Moved"})
    hook.refresh_from_db()
    assert hook.is_active
    assert list(AuditLogEntry.objects.order_by("id").values_list("reason", flat=True)) == ["Moving", "Moved"]


@pytest.mark.parametrize("role", ["support", "printer"])
def test_others_see_no_webhooks(brand, hook, role):
    other = browser(staff(brand, role=role))

    assert other.get(its(hook)).status_code in {403, 404}
    assert other.post(its(hook, "rotate"), {"hours": 0, "reason": "x"}).status_code in {403, 404}


def test_another_brands_webhook_cannot_be_acted_on(hook):
    stranger = browser(staff(factories.brand()))

    for what in ("rotate", "ping", "stop"):
        assert stranger.post(its(hook, what), {"hours": 0, "reason": "x"}).status_code == 404


def test_the_external_system_is_set_up_tried_out_and_watched(client, brand, shop):
    settings = {"when_rejected": "hold", "when_away": "proceed", "is_active": "on"}
    made = client.post(address("loyalty.externalsystem", "add"), {"brand": brand.pk, "url": shop.url, **settings})
    system = ExternalSystem.objects.get()
    assert system.secret in text(made)

    shop.decides(decision="proceed")
    tried = client.post(its(system, "try_out"), {"reason": "Try"}, follow=True)
    assert "credit the points." in text(tried)

    shop.answers(500)
    tried = client.post(its(system, "try_out"), {"reason": "Try"}, follow=True)
    assert "It answered 500." in text(tried)

    for _ in range(5):
        external_system.breaker_of(system).failed()
    assert "Requests are paused" in text(client.get(its(system)))


def test_a_changed_setting_of_the_external_system_is_in_the_audit_trail(client, brand):
    options = {"when_rejected": "hold", "when_away": "hold", "is_active": True}
    system, _secret = external_system.create(brand=brand, url="https://erp.example/", **options)
    changed = {"url": "https://erp.example/", "when_rejected": "refuse", "when_away": "hold", "is_active": "on"}
    client.post(its(system), changed)
    system.refresh_from_db()

    assert system.when_rejected == "refuse"
    assert AuditLogEntry.objects.get().changes == {"when_rejected": ["hold", "refuse"]}
