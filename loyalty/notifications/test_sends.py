"""Test sends: a notification with sample values, sent to staff in the same way as to customers."""

import uuid
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from brands.models.people import User
from brands.models.tenants import Brand
from core.errors import Invalid
from core.redis import rate_limits
from loyalty.models.notifications import Channel
from loyalty.notifications import batching, delivery, devices, preferences, rendering
from loyalty.notifications.batching import NotificationRequest


def send(
    *,
    brand: Brand,
    to: User,
    template: str,
    channel: str,
    language: str,
    phone: str = "",
    more: Mapping[str, Any] | None = None,
    at: datetime,
) -> None:
    """By e-mail to their own address, by SMS to `phone`, by push to their own newest device.

    `more` are values in addition to the sample ones. Raises Invalid if the channel is not set up or there is no
    address, and RateLimited.
    """
    rate_limits.hit("test_message", to.pk)
    values: dict[str, Any] = dict(rendering.sample(brand, template, channel, language).values)
    values |= {**(more or {}), "channel": channel, "language": language}
    own = delivery.settings_of(brand.pk)
    if channel == Channel.SMS:
        if not (own.twilio_account_sid and own.twilio_auth_token and own.sms_sender):
            raise Invalid(_("SMS is not set up yet: see the notification settings."))
        values["to"] = preferences.checked_phone(phone)
        if not values["to"]:
            raise Invalid(_("Enter the phone number for the test."), details={"field": "phone"})
    if channel == Channel.PUSH:
        rows = devices.alive(user_id=to.pk, brand_id=brand.pk)
        if not own.fcm_service_account:
            raise Invalid(_("Push is not set up yet: see the notification settings."))
        if not rows:
            raise Invalid(_("You have no registered device. Log in to the brand's app with your own address."))
        values["device_id"], values["to"] = rows[-1].pk, rows[-1].token
    request = NotificationRequest(template, f"test:{uuid.uuid4()}", values, is_test=True)
    batching.notify_many(brand_id=brand.pk, user_ids=[to.pk], notification=request, at=at, retry_hours=1)
