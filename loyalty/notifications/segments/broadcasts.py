"""The text and channels of a broadcast for one member."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_noop

from loyalty.models.accounts import UserPoints
from loyalty.models.messages.broadcasts import Broadcast
from loyalty.models.notifications import Channel, Language, Notification, NotificationDelivery, Template
from loyalty.notifications.catalogue import MessageText
from loyalty.notifications.channels.base import Failed

PARAMETER = "broadcast_id"
PUSH_TITLE = "{brand_name}"


@dataclass(frozen=True, slots=True)
class BroadcastContent:
    """The text in the language of a delivery, and the values of its placeholders."""

    texts: MessageText
    values: Mapping[str, Any]


def of(notification: Notification) -> Broadcast | None:
    """The broadcast of a notification. None for any other notification, and for a deleted broadcast."""
    if notification.template != Template.BROADCAST:
        return None
    return Broadcast.objects.filter(brand=notification.brand_id, pk=notification.payload.get(PARAMETER)).first()


def languages_of(texts: Mapping[str, Any]) -> list[str]:
    """The languages in which it is written."""
    return [language for language in Language.values if any(texts.get(language, {}).values())]


def language_for(broadcast: Broadcast, preferred: Sequence[str]) -> str:
    """The first preferred language in which it is written, else any in which it is."""
    written = languages_of(broadcast.texts)
    return next((language for language in preferred if language in written), written[0] if written else preferred[-1])


def message_text(texts: Mapping[str, Any], *, channel: str, language: str) -> MessageText:
    parts = texts.get(language, {})
    if channel == Channel.EMAIL:
        return MessageText(parts.get("subject", ""), parts.get("body", ""))
    return MessageText(PUSH_TITLE if channel == Channel.PUSH else "", parts.get("short_text", ""))


def content_of(row: NotificationDelivery) -> BroadcastContent:
    """The content of a delivery, with the member's current balance and level.

    Raises Failed if the broadcast was deleted, or the member was blocked since it was queued.
    """
    broadcast = of(row.notification)
    if broadcast is None:
        raise Failed(gettext_noop("The broadcast was deleted."))
    texts = message_text(broadcast.texts, channel=row.channel, language=row.language)
    if row.notification.is_test:
        return BroadcastContent(texts, row.notification.payload)
    accounts = UserPoints.objects.filter(user=row.user_id, brand=row.brand_id, status=UserPoints.Status.ACTIVE)
    account = accounts.only("points", "current_level").first()
    if account is None:
        raise Failed(gettext_noop("The member is blocked."))
    return BroadcastContent(texts, {"new_balance": account.points, "current_level": account.current_level})
