"""Checks the texts of a broadcast: which ones its channels need, and what is wrong with them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _

from core.errors import Invalid
from loyalty.models.messages.broadcasts import Broadcast
from loyalty.models.notifications import Channel, Language, Template
from loyalty.notifications import catalogue, delivery
from loyalty.notifications.catalogue import KINDS, MAX_LENGTHS
from loyalty.notifications.segments import broadcasts

MAX_CHARACTERS = {
    "subject": MAX_LENGTHS[Channel.EMAIL][0],
    "body": MAX_LENGTHS[Channel.EMAIL][1],
    "short_text": MAX_LENGTHS[Channel.SMS][1],
}
PARTS = tuple(MAX_CHARACTERS)
SLOTS = KINDS[Template.BROADCAST].slots


def needed_parts(channels: Sequence[str]) -> list[str]:
    """The texts that these channels need."""
    mail = ["subject", "body"] if Channel.EMAIL in channels else []
    return [*mail, *(["short_text"] if {Channel.SMS, Channel.PUSH} & set(channels) else [])]


def text_problems(texts: Mapping[str, Any], *, channels: Sequence[str], language: str) -> Iterator[tuple[str, str]]:
    """Problems in the texts: the field, such as `body_en`, and what to do. `language`: the brand's own.

    A language with any text must be complete. The brand's own language always must: it is the fallback for all others.
    """
    needed, written = needed_parts(channels), broadcasts.languages_of(texts)
    for each in Language.values:
        if each not in written and each != language:
            continue
        for part in PARTS:
            text = texts.get(each, {}).get(part, "")
            if text.strip() or part in needed:
                problems = catalogue.problems_of(text, known=SLOTS, needed=frozenset(), longest=MAX_CHARACTERS[part])
                yield from ((f"{part}_{each}", problem) for problem in problems)


def check_ready(broadcast: Broadcast) -> None:
    """Raises Invalid if the segment was deleted, a channel is missing or not available, or a text is incomplete."""
    if broadcast.segment_name and broadcast.segment_id is None:
        message = _("The segment “%(name)s” was deleted. Choose another one.")
        raise Invalid(message % {"name": broadcast.segment_name})
    own = delivery.settings_of(broadcast.brand_id)
    if not own.is_active:
        raise Invalid(_("Notifications are switched off. Switch them on in the notification settings first."))
    ready = delivery.channels_of(own)
    if missing := [Channel(name).label for name in broadcast.channels if name not in ready]:
        message = _("%(channel)s is not set up: see the notification settings, or choose other channels.")
        raise Invalid(message % {"channel": missing[0]})
    if not broadcast.channels:
        raise Invalid(_("Choose at least one channel."))
    for _field, problem in text_problems(broadcast.texts, channels=broadcast.channels, language=own.language):
        raise Invalid(_("The text is not complete: %(problem)s") % {"problem": problem})
