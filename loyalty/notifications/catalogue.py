"""The kinds of notifications: the topic of each, the placeholders that its texts may use, and the default texts."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from loyalty.models.notifications import Channel, Language, Template, Topic
from loyalty.notifications import placeholders
from loyalty.notifications.placeholders import BadText

TEXTS = Path(__file__).parent / "texts"
RIGHT_TO_LEFT = frozenset({Language.ARABIC.value})
MAX_LENGTHS = {  # in characters: of the subject or title, and of the body
    Channel.EMAIL: (200, 10_000),
    Channel.SMS: (0, 480),
    Channel.PUSH: (100, 500),
}


@dataclass(frozen=True, slots=True)
class MessageText:
    """A subject (e-mail) or title (push; empty for SMS), and a body."""

    subject: str
    body: str


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of notification: its topic, its placeholders with descriptions and examples, and its channels.

    `needed` placeholders must not be left out. `is_written_each_time`: staff write every text, so there is no default.
    """

    topic: Topic
    slots: Mapping[str, tuple[Any, Any]]
    needed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    channels: tuple[Channel, ...] = tuple(Channel)
    is_written_each_time: bool = False


COMMON = {
    "greeting": (_("a greeting with the customer's first name, where it is known"), None),
    "customer_name": (_("the customer's first name; may be empty"), "Ada"),
    "brand_name": (_("the brand's name"), None),
    "support_email": (_("the brand's address for questions"), None),
}


def account_mail(**slots: tuple[Any, Any]) -> Kind:
    """A mail about the account itself: customers cannot switch it off, and its body needs all of `slots`."""
    return Kind(Topic.SAFETY, {**COMMON, **slots}, {Channel.EMAIL: frozenset(slots)}, (Channel.EMAIL,))


KINDS: dict[str, Kind] = {
    Template.POINTS_EARNED: Kind(
        Topic.POINTS,
        {
            **COMMON,
            "points_earned": (_("points earned by all actions in this notification"), 1250),
            "new_balance": (_("the balance after them"), 4800),
            "accruals": (_("number of actions that earned them"), 3),
            "current_level": (_("the customer's level; may be empty"), "Silver"),
            "note": (_("what the last action was"), "Scan of Alpine Jacket"),
        },
    ),
    Template.LEVEL_REACHED: Kind(
        Topic.POINTS,
        {
            **COMMON,
            "level_name": (_("the new level"), "Gold"),
            "new_balance": (_("the customer's balance"), 4800),
        },
    ),
    Template.LEVEL_ENDING: Kind(
        Topic.POINTS,
        {
            **COMMON,
            "level_name": (_("the level that ends"), "Gold"),
            "points_missing": (_("how many more points keep the level for another period"), 380),
            "level_until": (_("the last day of the level"), "2027-12-31"),
        },
    ),
    Template.LEVEL_LOWERED: Kind(
        Topic.POINTS,
        {
            **COMMON,
            "level_before": (_("the level that ended"), "Gold"),
            "level_name": (_("the level from now on"), "Silver"),
        },
    ),
    Template.REWARD_AVAILABLE: Kind(
        Topic.OFFERS,
        {
            **COMMON,
            "reward_name": (_("the reward"), "A mug"),
            "campaign_name": (_("the campaign that gives the reward"), "Scan and win"),
        },
    ),
    Template.POINTS_EXPIRING: Kind(
        Topic.OFFERS,
        {
            **COMMON,
            "points": (_("how many points expire"), 320),
            "expires_on": (_("the first day on which they have expired"), "2027-01-01"),
        },
    ),
    Template.POINTS_RECEIVED: Kind(
        Topic.POINTS,
        {
            **COMMON,
            "points": (_("how many points another member gave"), 50),
            "new_balance": (_("the balance after them"), 370),
        },
    ),
    Template.BROADCAST: Kind(
        Topic.OFFERS,
        {
            **COMMON,
            "new_balance": (_("the customer's balance"), 4800),
            "current_level": (_("the customer's level; may be empty"), "Silver"),
        },
        is_written_each_time=True,
    ),
    Template.RECALL: Kind(
        Topic.SAFETY,
        {
            **COMMON,
            "product_name": (_("the recalled product"), "Alpine Jacket"),
            "recall_id": (_("the recall's number"), "R-2026-03"),
            "contact": (_("contact for customers"), "+41 800 000 000"),
            "message": (_("instructions for customers"), "Stop using this jacket and bring it back to the shop."),
            "acknowledge_link": (_("a link to acknowledge the recall"), None),
        },
        {
            Channel.EMAIL: frozenset({"message", "acknowledge_link"}),
            Channel.SMS: frozenset({"message"}),
            Channel.PUSH: frozenset({"message"}),
        },
    ),
    Template.PASSWORD_RESET: account_mail(
        password_link=(_("a link to set a new password, valid for 30 minutes"), None)
    ),
    Template.EMAIL_CONFIRMATION: account_mail(
        confirmation_code=(_("a six-digit code, valid for 30 minutes"), "048 213"),
        confirm_link=(_("a link that does the same as the code"), None),
    ),
    Template.ALREADY_REGISTERED: account_mail(sign_in_link=(_("a link to the login page"), None)),
    Template.LOGIN_PAUSED: account_mail(sign_in_link=(_("a link to the page to set a new password"), None)),
    Template.EMAIL_CHANGE: account_mail(
        change_link=(_("a link to confirm the new address, valid for 30 minutes"), None)
    ),
    Template.EMAIL_CHANGE_NOTIFICATION: account_mail(
        sign_in_link=(_("a link to the page to set a new password"), None)
    ),
}


@cache
def language_file(language: str) -> dict[str, Any]:
    return tomllib.loads((TEXTS / f"{language}.toml").read_text())


def shipped(template: str, channel: str, language: str) -> MessageText:
    """The default text of the platform."""
    result = language_file(language)[template][channel]
    return MessageText(result.get("subject", ""), result["body"])


def phrase(language: str, name: str, *, of: str = "phrases") -> str:
    result: str = language_file(language)[of][name]
    return result


def direction(language: str) -> str:
    """The value of HTML's `dir`."""
    return "rtl" if language in RIGHT_TO_LEFT else "ltr"


def text_problems(template: str, channel: str, texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Errors in a brand's own `subject` and `body`, for an existing template and channel.

    Yields the field's name and what to do. Checks only the texts that are passed.
    """
    kind = KINDS[template]
    if kind.is_written_each_time:
        yield "template", gettext("The text of a broadcast is written with each broadcast.")
        return
    if channel not in kind.channels:
        yield "channel", gettext("This notification is not sent by this channel.")
        return
    for name, longest in zip(("subject", "body"), MAX_LENGTHS[Channel(channel)], strict=True):
        if name in texts:
            needed = kind.needed.get(channel, frozenset()) if name == "body" else frozenset()
            for problem in problems_of(texts[name], known=kind.slots, needed=needed, longest=longest):
                yield name, problem


def problems_of(text: str, *, known: Mapping[str, Any], needed: frozenset[str], longest: int) -> Iterator[str]:
    try:
        placeholders.check(text, known=known, needed=needed)
    except BadText as error:
        yield str(error)
    if len(text) > longest:
        message = gettext("Enter at most %(longest)d characters.") if longest else gettext("An SMS has no subject.")
        yield message % {"longest": longest} if longest else message
    if longest and not text.strip():
        yield gettext("Enter a text.")
