"""A webhook in the portal: added, its secret shown once, tried out, and stopped with a word to its owner."""

from collections.abc import Iterator

import pytest
from django.utils import timezone

from loyalty.integrations import webhook_endpoints
from loyalty.models.webhooks import WebhookEndpoint
from tests.support.fakes.fake_http import Receiver, receiver

PHONE = (390, 844)


@pytest.fixture
def shop(settings) -> Iterator[Receiver]:
    settings.OUTGOING_PRIVATE_NETWORKS = ["127.0.0.0/8"]
    with receiver() as running:
        yield running


def test_a_webhook_is_added_and_its_secret_shown_once(window, brand):
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

    made = WebhookEndpoint.objects.get()
    assert (made.secret, made.types, made.url) == (text, ["points.earned"], "https://shop.example/hooks")
    assert text not in owner.page.content()


def test_one_that_was_switched_off_is_told_on_the_front_page(window, brand):
    at = timezone.now()
    made, _secret = webhook_endpoints.create(brand=brand, url="https://shop.example/", types=["points.earned"], at=at)
    webhook_endpoints.stop(endpoint=made, state=WebhookEndpoint.State.GONE, at=at)
    owner = window()
    owner.goto("")
    owner.wait_for_text("was switched off: its receiver failed")
    owner.link("Review").click()
    owner.wait_for_text("Disabled: the receiver answered 410 Gone")
    owner.link("Enable").click()
    owner.page.get_by_label("Reason").fill("It is back")
    owner.button("Enable webhook").click()
    owner.wait_for_text("Enabled")

    made.refresh_from_db()
    assert made.is_active
