"""Preview of a recall's messages: each text in each language, and how many customers it would reach."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from authcodes.models.batches import Recall
from authcodes.recalls import notifications
from authcodes.recalls.scopes import Scope
from brands.models.people import User
from brands.models.tenants import Brand
from loyalty.models.notifications import Channel, Device, Language, NotificationPreference, Template, Topic
from loyalty.notifications import catalogue, delivery, rendering, suppression
from loyalty.notifications.rendering import Composed, MessageRequest

NAME = "Ada"  # the recipient's name in the preview


@dataclass(frozen=True, slots=True)
class ChannelCount:
    """How many customers one channel can reach."""

    channel: str
    label: str
    customers: int


@dataclass(frozen=True, slots=True)
class LanguagePreview:
    """What a customer who reads `language` gets: the mail, and shorter texts for the other channels."""

    language: str
    label: str
    direction: str
    mail: Composed
    texts: list[tuple[str, Composed]]


@dataclass(frozen=True, slots=True)
class Preview:
    """What customers get, in the brand's own language first, and the number of customers."""

    languages: list[LanguagePreview]
    customers: int
    reached: list[ChannelCount]
    fingerprint: str  # of all of this, so that only the displayed preview can be confirmed


def of(recall: Recall, scope: Scope) -> Preview:
    """`recall` need not be stored. Counts customers who were not notified yet."""
    customers = notifications.to_notify(recall, scope)
    return counted(recall, scope, customers=len(customers), channels=reached(scope.brand, customers))


def counted(recall: Recall, scope: Scope, *, customers: int, channels: list[ChannelCount]) -> Preview:
    """The preview for customers who are already counted."""
    brand, values = scope.brand, notifications.notification_of(recall, scope).values
    own = delivery.settings_of(brand.pk).language
    shorter = [(each.channel, each.label) for each in channels if each.channel != Channel.EMAIL]
    languages = [
        LanguagePreview(
            each.value,
            str(each.label),
            catalogue.direction(each.value),
            composed(brand, Channel.EMAIL.value, each.value, values),
            [(label, composed(brand, channel, each.value, values)) for channel, label in shorter],
        )
        for each in sorted(Language, key=lambda each: each.value != own)
    ]
    return Preview(languages, customers, channels, fingerprint(values, customers))


def composed(brand: Brand, channel: str, language: str, values: Mapping[str, Any]) -> Composed:
    request = MessageRequest(
        brand=brand,
        template=Template.RECALL.value,
        channel=channel,
        language=language,
        values=values,
        customer_name=NAME,
    )
    return rendering.compose(request)


def fingerprint(values: Mapping[str, Any], customers: int) -> str:
    return hashlib.sha256(repr((sorted(values.items()), customers)).encode()).hexdigest()[:24]


def reached(brand: Brand, customers: list[int]) -> list[ChannelCount]:
    """Counts for each channel that the brand has set up; recalls are always mailed."""
    on = delivery.channels_of(delivery.settings_of(brand.pk)) | {Channel.EMAIL.value}
    counts = {Channel.EMAIL: by_mail, Channel.SMS: by_sms, Channel.PUSH: by_push}
    return [
        ChannelCount(each.value, str(each.label), count(brand, customers))
        for each, count in counts.items()
        if each in on
    ]


def by_mail(brand: Brand, customers: list[int]) -> int:
    addresses = User.objects.filter(pk__in=customers, is_active=True).values_list("email", flat=True)
    ways = [(Channel.EMAIL.value, address) for address in addresses]
    return len(ways) - len(suppression.suppressed_among(brand_id=brand.pk, addresses=ways))


def by_sms(brand: Brand, customers: list[int]) -> int:
    with_phone = NotificationPreference.objects.filter(brand=brand, user__in=customers, user__is_active=True)
    return with_phone.exclude(phone="").exclude(opted_out__contains=[f"{Topic.SAFETY}/{Channel.SMS}"]).count()


def by_push(brand: Brand, customers: list[int]) -> int:
    unwilling = NotificationPreference.objects.filter(
        brand=brand, opted_out__contains=[f"{Topic.SAFETY}/{Channel.PUSH}"]
    )
    alive = Device.objects.filter(brand=brand, user__in=customers, user__is_active=True, died_at=None)
    return alive.exclude(user__in=unwilling.values("user")).order_by().values("user").distinct().count()
