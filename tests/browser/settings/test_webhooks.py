"""A webhook in the portal is added, with its secret shown once, and enabled again after it was disabled."""

from django.utils import timezone

from loyalty.integrations import webhook_endpoints
from loyalty.models.webhooks import WebhookEndpoint


def test_webhook_is_added_and_its_secret_shown_once(window, brand):
    owner = window()
    owner.goto("loyalty/webhookendpoint/add/")
    owner.page.get_by_label("Address").fill("https://10.0.0.1/")
    owner.page.get_by_label("points.earned").check()
    owner.button("Save").last.click()
    owner.wait_for_text("This is a private network address, which is never called.")

    owner.page.get_by_label("Address").fill("https://shop.example/hooks")
    owner.button("Save").last.click()
    text = owner.page.locator("[data-copied-text]").inner_text()
    owner.page.get_by_role("link", name="I have copied it", exact=True).click()

    endpoint = WebhookEndpoint.objects.get()
    assert (endpoint.secret, endpoint.types, endpoint.url) == (text, ["points.earned"], "https://shop.example/hooks")
    assert text not in owner.page.content()


def test_disabled_webhook_is_reported_on_home_and_enabled_again(window, brand):
    at = timezone.now()
    endpoint, _secret = webhook_endpoints.create(
        brand=brand, url="https://shop.example/", types=["points.earned"], at=at
    )
    webhook_endpoints.stop(endpoint=endpoint, state=WebhookEndpoint.State.GONE, at=at)
    owner = window()
    owner.goto("")
    owner.wait_for_text("was switched off: its receiver failed")
    owner.link("Review").click()
    owner.wait_for_text("Disabled: the receiver answered 410 Gone")
    owner.link("Enable").click()
    owner.page.get_by_label("Reason").fill("It is back")
    owner.button("Enable webhook").click()
    owner.wait_for_text("Enabled")

    endpoint.refresh_from_db()
    assert endpoint.is_active
