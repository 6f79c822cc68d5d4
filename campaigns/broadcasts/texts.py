"""Checks the texts of a broadcast: which ones its channels need, and what is wrong with them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

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
PART_LABELS = {
    "subject": gettext_lazy("Subject"),
    "body": gettext_lazy("Text of the e-mail"),
    "short_text": gettext_lazy("Text of SMS and push messages"),
}
SLOTS = KINDS[Template.BROADCAST].slots


@dataclass(frozen=True, slots=True)
class TextProblem:
    """What is wrong with one text, and what to do."""

    part: str
    language: str
    message: str

    @property
    def field(self) -> str:
        """The text's field in the form, such as `body_en`."""
        return f"{self.part}_{self.language}"


def needed_parts(channels: Sequence[str]) -> list[str]:
    """The texts that these channels need."""
    mail = ["subject", "body"] if Channel.EMAIL in channels else []
    return [*mail, *(["short_text"] if {Channel.SMS, Channel.PUSH} & set(channels) else [])]


def text_problems(texts: Mapping[str, Any], *, channels: Sequence[str], language: str) -> Iterator[TextProblem]:
    """Problems in the texts. `language`: the brand's own.

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
                yield from (TextProblem(part, each, problem) for problem in problems)


def check_ready(broadcast: Broadcast) -> None:
    """Raises Invalid, with the reason, unless the broadcast can be sent now."""
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
    for problem in text_problems(broadcast.texts, channels=broadcast.channels, language=own.language):
        values = {"language": Language(problem.language).label, "part": PART_LABELS[problem.part]}
        raise Invalid(_("%(language)s, %(part)s: %(problem)s") % {**values, "problem": problem.message})
