"""What a recall would send, before anything is sent: the mail in its words, and how many customers get it by what."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from authcodes.models.batches import Recall
from authcodes.recalls import notifications
from brands.models.people import User
from brands.models.tenants import Brand
from loyalty.models.notifications import Channel, Device, NotificationPreference, Template, Topic
from loyalty.notifications import delivery, rendering, suppression
from loyalty.notifications.rendering import Composed, MessageRequest

NAME = "Ada"  # whom the mail is shown to


@dataclass(frozen=True, slots=True)
class AffectedScope:
    """How many customers one channel can reach."""

    channel: str
    label: str
    customers: int


@dataclass(frozen=True, slots=True)
class Preview:
    """The mail as one customer gets it, and how many customers it goes to."""

    mail: Composed
    customers: int
    reached: list[AffectedScope]
    fingerprint: str  # of all of this: what is confirmed is what was shown


def of(recall: Recall) -> Preview:
    """`recall` need not be stored. Counts customers who were not told yet."""
    brand, values = recall.batch.brand, notifications.notification_of(recall).values
    customers = notifications.to_notify(recall)
    mail = rendering.compose(
        MessageRequest(
            brand=brand,
            template=Template.RECALL.value,
            channel=Channel.EMAIL.value,
            language=delivery.settings_of(brand.pk).language,
            values=values,
            customer_name=NAME,
        )
    )
    return Preview(mail, len(customers), reached(brand, customers), fingerprint(values, len(customers)))


def fingerprint(values: Mapping[str, Any], customers: int) -> str:
    return hashlib.sha256(repr((sorted(values.items()), customers)).encode()).hexdigest()[:24]


def reached(brand: Brand, customers: list[int]) -> list[AffectedScope]:
    """By each channel that the brand has set up; recalls are always mailed."""
    on = delivery.channels_of(delivery.settings_of(brand.pk)) | {Channel.EMAIL.value}
    counts = {Channel.EMAIL: by_mail, Channel.SMS: by_sms, Channel.PUSH: by_push}
    return [
        AffectedScope(each.value, str(each.label), count(brand, customers))
        for each, count in counts.items()
        if each in on
    ]


def by_mail(brand: Brand, customers: list[int]) -> int:
    addresses = User.objects.filter(pk__in=customers, is_active=True).values_list("email", flat=True)
    ways = [(Channel.EMAIL.value, address) for address in addresses]
    return len(ways) - len(suppression.among(brand_id=brand.pk, addresses=ways))


def by_sms(brand: Brand, customers: list[int]) -> int:
    with_phone = NotificationPreference.objects.filter(brand=brand, user__in=customers, user__is_active=True)
    return without(with_phone.exclude(phone=""), Channel.SMS).count()


def by_push(brand: Brand, customers: list[int]) -> int:
    unwilling = NotificationPreference.objects.filter(
        brand=brand, opted_out__contains=[f"{Topic.SAFETY}/{Channel.PUSH}"]
    )
    alive = Device.objects.filter(brand=brand, user__in=customers, user__is_active=True, died_at=None)
    return alive.exclude(user__in=unwilling.values("user")).order_by().values("user").distinct().count()


def without(rows: "QuerySet[NotificationPreference]", channel: Channel) -> "QuerySet[NotificationPreference]":
    return rows.exclude(opted_out__contains=[f"{Topic.SAFETY}/{channel}"])
