"""Preview of an unsaved notification text, next to its form."""

from typing import Any

from loyalty.models.notifications import Channel
from loyalty.notifications import catalogue, placeholders, rendering
from loyalty.notifications.catalogue import KINDS, MAX_LENGTHS, MessageText
from loyalty.notifications.placeholders import BadText


def names_of(template: str) -> list[tuple[str, str]]:
    """The placeholders that the notification's text may contain, and what they stand for."""
    return [(f"{{{name}}}", str(description)) for name, (description, _example) in KINDS[template].slots.items()]


def draft(*, brand: Any, template: str, channel: str, language: str, texts: MessageText) -> dict[str, Any]:
    """Fill `texts` with sample values for the preview, or say what is wrong with them."""
    ours = catalogue.shipped(template, channel, language)
    page_context = {
        "names": names_of(template),
        "ours": {"subject": ours.subject, "body": ours.body},
        "direction": catalogue.direction(language),
    }
    longest = MAX_LENGTHS[Channel(channel)]
    try:
        for text, most in zip((texts.subject, texts.body), longest, strict=True):
            placeholders.check(text[: most + 1], known=KINDS[template].slots, needed=frozenset())
    except BadText as error:
        return {**page_context, "problem": str(error)}
    cut = MessageText(texts.subject[: longest[0]], texts.body[: longest[1]])
    composed = rendering.compose(rendering.sample(brand, template, channel, language), cut)
    return {**page_context, "subject": composed.subject, "text": composed.text, "html": composed.html}
