"""A customer's notification preferences at a brand: the only code that writes NotificationPreference."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from core.db.statements import command
from core.errors import Invalid
from core.languages import filled
from loyalty.models.notifications import PHONE, Channel, Language, NotificationPreference, Topic

INSERT_PREFERENCES = command("loyalty/notifications/sql/insert_preferences.sql")

Switches = Mapping[str, Mapping[str, bool]]  # topic -> channel -> whether it is switched on


@dataclass(frozen=True, slots=True)
class Preferences:
    """A customer's preferences at a brand. `opted_out` has topic/channel; an empty language means the brand's."""

    language: str = ""
    phone: str = ""
    opted_out: frozenset[str] = field(default_factory=frozenset)

    def allows(self, topic: str, channel: str) -> bool:
        """Recalls are about safety, so they always go out by e-mail."""
        return is_forced(topic, channel) or f"{topic}/{channel}" not in self.opted_out

    def switches(self) -> dict[str, dict[str, bool]]:
        """For the API: topic -> channel -> whether it is switched on."""
        return {topic.value: {channel.value: self.allows(topic, channel) for channel in Channel} for topic in Topic}


def is_forced(topic: str, channel: str) -> bool:
    """Whether customers cannot switch it off."""
    return topic == Topic.SAFETY and channel == Channel.EMAIL


def read(user_id: int, brand_id: int) -> Preferences:
    """One query. Returns the defaults for a customer without stored preferences."""
    return of_rows(NotificationPreference.objects.filter(user_id=user_id, brand_id=brand_id).first())


def of_rows(row: NotificationPreference | None) -> Preferences:
    return Preferences(row.language, row.phone, frozenset(row.opted_out)) if row else Preferences()


def change(
    user_id: int,
    brand_id: int,
    *,
    at: datetime,
    language: str | None = None,
    phone: str | None = None,
    switches: Switches | None = None,
) -> Preferences:
    """Change only the arguments given; "" removes a language or phone number. Joins or owns a transaction.

    Raises Invalid, naming the field: unknown language, topic or channel, a number without its country code, or
    switching off what is always sent.
    """
    fields: dict[str, Any] = {"updated_at": at}
    if language is not None:
        fields["language"] = checked_language(language)
    if phone is not None:
        fields["phone"] = checked_phone(phone)
    choices = checked_switches(switches or {})
    with transaction.atomic():
        row, _new = NotificationPreference.objects.select_for_update().get_or_create(user_id=user_id, brand_id=brand_id)
        off = set(row.opted_out)
        for name, is_on in choices.items():
            off = off - {name} if is_on else off | {name}
        fields["opted_out"] = sorted(off)
        for name, value in fields.items():
            setattr(row, name, value)
        row.save(update_fields=[*fields])
    return of_rows(row)


@dataclass(frozen=True, slots=True)
class ImportedPreferences:
    """Imported preferences of a customer. One who opted out elsewhere gets only what is always sent."""

    user_id: int
    language: str
    phone: str
    wants_notifications: bool


def add_many(*, brand_id: int, rows: Sequence[ImportedPreferences], at: datetime) -> None:
    """Store the validated preferences of customers who have none yet. Joins a transaction."""
    everything = [f"{topic.value}/{channel.value}" for topic in Topic for channel in Channel]
    INSERT_PREFERENCES.run(
        brand_id=brand_id,
        user_ids=[each.user_id for each in rows],
        languages=[each.language for each in rows],
        phones=[each.phone for each in rows],
        wants_notifications=[each.wants_notifications for each in rows],
        opted_out=sorted(set(everything) - {f"{Topic.SAFETY.value}/{channel.value}" for channel in Channel}),
        at=at,
    )


def opt_out(user_id: int, brand_id: int, *, channel: str, topics: list[str], at: datetime) -> Preferences:
    """Opt out of these topics on this channel, except what is always sent."""
    switches = {topic: {channel: False} for topic in topics if not is_forced(topic, channel)}
    return change(user_id, brand_id, switches=switches, at=at)


def erase(user_id: int, brand_id: int) -> None:
    """For the erasure of personal data."""
    NotificationPreference.objects.filter(user_id=user_id, brand_id=brand_id).delete()


def checked_language(language: str) -> str:
    if language and language not in Language.values:
        message = filled("This language is not supported. Choose one of %(known)s.", known=", ".join(Language.values))
        raise Invalid(message, details={"field": "language"})
    return language


def checked_phone(phone: str) -> str:
    """Remove spaces and separators, and check the number."""
    bare = "".join(letter for letter in phone if letter not in " -()./\t")
    if bare:
        try:
            PHONE(bare)
        except ValidationError as error:
            raise Invalid(error.messages[0], details={"field": "phone"}) from None
    return bare


def checked_switches(switches: Switches) -> dict[str, bool]:
    """`topic/channel` -> whether it is switched on."""
    result = {}
    for topic, channels in switches.items():
        for channel, is_on in channels.items():
            if topic not in Topic.values or channel not in Channel.values:
                message = filled("%(topic)s cannot be switched for %(channel)s.", topic=topic, channel=channel)
                raise Invalid(message, details={"field": "notifications"})
            if is_forced(topic, channel) and not is_on:
                message = _("Recalls concern your safety: they are always sent by e-mail.")
                raise Invalid(message, details={"field": "notifications"})
            if not is_forced(topic, channel):
                result[f"{topic}/{channel}"] = is_on
    return result
