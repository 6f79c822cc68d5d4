"""Notes of ledger entries: the system's own notes are stored in English and displayed in any language."""

import re
from collections.abc import Mapping

from django.conf import settings
from django.utils import translation
from django.utils.translation import pgettext

# The texts as in the code that writes them, which marks them with gettext_noop.
SYSTEM_NOTES = (
    "Points for scanning %(product)s",
    "Points for order %(order)s",
    "Points for completing your profile: %(field)s",
    "Points for logging in",
    "Points for: %(event)s",
    "Points for joining",
    "Points for your birthday",
    "A friend joined",
    "You joined through a friend",
    "A friend's first order was returned",
    "Your first order was returned",
    "Reward: %(name)s",
    "Redeemed: %(reward)s",
    "Cancelled: %(reward)s",
    "Expired: earned before %(day)s",
    "Opening balance",
    "Returned order %(order)s",
    "Cancelled order %(order)s",
    "Released: order %(order)s",
    "Given to another member",
    "Received from another member",
    "Moved to another account of yours",
    "From another account of yours",
    "Moved back: your accounts are separate again",
    "Back: your accounts are separate again",
    "Settled: points owed for returned orders",
)
FIELDS = ("first_name", "last_name", "phone", "language", "birthday")
CONTEXT = "ledger"


def pattern_of(note: str) -> re.Pattern[str]:
    """A pattern that extracts the values from a note with this text."""
    parts = re.split(r"%\((\w+)\)s", note)
    return re.compile("".join(f"(?P<{each}>.+)" if at % 2 else re.escape(each) for at, each in enumerate(parts)), re.S)


PATTERNS = [(note, pattern_of(note)) for note in SYSTEM_NOTES]


def parsed(note: str) -> tuple[str, Mapping[str, str]] | None:
    """The system's text of a note and its values, or None for a note that a person wrote."""
    for text, pattern in PATTERNS:
        if result := pattern.fullmatch(note):
            return text, result.groupdict()
    return None


def text_in(note: str, language: str, names: Mapping[str, Mapping[str, str]] | None = None) -> str:
    """Translate the note if it is the system's own. `names` has the translations of its values, by language."""
    result = parsed(note)
    if result is None or language == settings.LANGUAGE_CODE:
        return note
    text, values = result
    with translation.override(language):
        texts = {name: pgettext(CONTEXT, value) if value in FIELDS else value for name, value in values.items()}
        texts |= (names or {}).get(language, {})
        return pgettext(CONTEXT, text) % texts
