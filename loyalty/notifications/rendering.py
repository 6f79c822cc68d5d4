"""Composes the text of a notification for one customer, in their language."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.core import signing
from django.template.loader import render_to_string
from django.utils import translation
from django.utils.crypto import salted_hmac
from django.utils.formats import date_format

from brands.identity import tokens
from brands.models.people import User
from brands.models.tenants import Brand
from brands.tenants import contacts
from brands.tenants.hostnames import hostname_of, site_at
from core.mail import one_line
from core.numbers import format_number
from loyalty.models.notifications import Channel, NotificationTemplate, Template, Topic
from loyalty.notifications import catalogue, names, placeholders
from loyalty.notifications.catalogue import KINDS, MessageText
from loyalty.notifications.placeholders import Value, Values

OPT_OUT, ACKNOWLEDGE, NEW_PASSWORD = "notices.opt-out", "notices.acknowledge", "password.new"
CONFIRM_EMAIL, CONFIRM_REGISTRATION, CHANGE_EMAIL = "email.confirm", "register.confirm", "email.change"
# Maximum characters of one value. An e-mail has room for all that staff write; other channels link to the rest.
MAX_VALUE_LENGTHS = {Channel.EMAIL.value: 5000, Channel.SMS.value: 320, Channel.PUSH.value: 240}
ELLIPSIS = "\u2026"
WHY = {
    Template.RECALL.value: "why_safety",
    Template.PASSWORD_RESET.value: "why_password",
    Template.EMAIL_CONFIRMATION.value: "why_confirmation",
    Template.ALREADY_REGISTERED.value: "why_confirmation",
    Template.LOGIN_PAUSED.value: "why_account",
    Template.EMAIL_CHANGE.value: "why_confirmation",
    Template.EMAIL_CHANGE_NOTIFICATION.value: "why_account",
}


@dataclass(frozen=True, slots=True)
class Composed:
    """The composed message. `html` is only for e-mail; `opt_out` is the URL for opting out, or empty."""

    subject: str
    text: str
    html: str = ""
    opt_out: str = ""


@dataclass(frozen=True, slots=True)
class MessageRequest:
    """Which text to compose. `values` come from the event; without `customer_name` the greeting has no name."""

    brand: Brand
    template: str
    channel: str
    language: str
    values: Mapping[str, Any]
    customer_name: str = ""
    user_id: int = 0
    notification_id: int = 0


def compose(request: MessageRequest, texts: MessageText | None = None) -> Composed:
    """Compose the message from `texts`, else from the brand's own text, else from the default text."""
    texts = texts or terms_of(request.brand, request.template, request.channel, request.language)
    values = values_of(request)
    isolated = catalogue.direction(request.language) == "rtl"
    subject = one_line(placeholders.fill(texts.subject, values, isolated=isolated))
    text = placeholders.fill(texts.body, values, isolated=isolated).replace("\r\n", "\n").strip()
    if request.channel != Channel.EMAIL:
        return Composed(subject, with_link(text, texts, values))
    opt_out = "" if KINDS[request.template].topic == Topic.SAFETY else opt_out_link(request)
    footer = footer_of(request, values, opt_out)
    html = render_to_string(
        "loyalty/notifications/email.html",
        {
            "brand": request.brand,
            "language": request.language,
            "direction": catalogue.direction(request.language),
            "start": "right" if isolated else "left",
            "subject": subject,
            "body": placeholders.fill_html(texts.body, values),
            "opt_out": opt_out,
            "opt_out_text": catalogue.phrase(request.language, "opt_out"),
            "footer": [line for line in footer if line[0] != opt_out],
        },
    )
    lines = [" ".join(part for part in line if part) for line in footer]
    return Composed(subject, "\n\n".join([text, "-- \n" + "\n".join(lines)]), html, opt_out)


def with_link(text: str, texts: MessageText, values: Values) -> str:
    """Append a link to the full message if a value was cut, unless the text has the link already."""
    link, named = values.get("acknowledge_link"), placeholders.names(texts.body)
    is_cut = any(value.is_cut for name, value in values.items() if name in named)
    return f"{text} {link.text}" if is_cut and link and "acknowledge_link" not in named else text


def footer_of(request: MessageRequest, values: Values, opt_out: str) -> list[tuple[str, ...]]:
    """Why the customer gets the message, whom to contact, and how to opt out."""
    why = WHY.get(request.template, "why")
    lines = [(placeholders.fill(catalogue.phrase(request.language, name), values),) for name in (why, "questions")]
    return [*lines, *([(opt_out, "")] if opt_out else [])]


def terms_of(brand: Brand, template: str, channel: str, language: str) -> MessageText:
    own = NotificationTemplate.objects.filter(
        brand=brand, template=template, channel=channel, language=language
    ).first()
    return MessageText(own.subject, own.body) if own else catalogue.shipped(template, channel, language)


def values_of(request: MessageRequest) -> Values:
    """The values of all placeholders that the notification's text may use."""
    name = one_line(request.customer_name)[:60]
    named = names.in_language(request.values, brand_id=request.brand.pk, language=request.language)
    values = {"customer_name": name, "brand_name": request.brand.name, "support_email": request.brand.support_email}
    result = {
        slot: shortened(display_value(values.get(slot, named.get(slot)), request.language), request.channel)
        for slot in KINDS[request.template].slots
    }
    hello = catalogue.phrase(request.language, "hello_named" if name else "hello")
    result["greeting"] = Value(
        placeholders.fill(hello, result, isolated=catalogue.direction(request.language) == "rtl")
    )
    if "contact" in result:
        result["contact"] = Value(result["contact"].text, href=contacts.link(result["contact"].text))
    if "acknowledge_link" in result:
        link = address_of(request.brand, ACKNOWLEDGE, {"n": request.notification_id})
        result["acknowledge_link"] = Value(link, catalogue.phrase(request.language, "acknowledge_link"))
    if "password_link" in result:
        link = password_link(request)
        result["password_link"] = Value(link, catalogue.phrase(request.language, "password_link"))
    if "confirm_link" in result:
        claims = {"c": str(request.values.get("confirmation_id", ""))}
        purpose = CONFIRM_REGISTRATION if request.values.get("registers") else CONFIRM_EMAIL
        link = address_of(request.brand, purpose, claims)
        result["confirm_link"] = Value(link, catalogue.phrase(request.language, "confirm_link"))
    if "change_link" in result:
        link = address_of(request.brand, CHANGE_EMAIL, {"c": str(request.values.get("confirmation_id", ""))})
        result["change_link"] = Value(link, catalogue.phrase(request.language, "change_link"))
    if "sign_in_link" in result:
        link = site_of(request.brand) + ("/admin/login/" if request.values.get("portal") else "/s/?forgot")
        result["sign_in_link"] = Value(link, catalogue.phrase(request.language, "sign_in_link"))
    return result


def password_link(request: MessageRequest) -> str:
    """The link to set a new password. It leads to the hostname of the brand where the user registered.

    The password is valid at all of the user's brands, and another brand could point its hostname at a server that reads
    the link. A user without a brand of registration, because a brand imported them, gets a link to the portal's own
    URL. The link contains a mark of the old password and the address, so changing either invalidates it.
    """
    user = User.objects.filter(pk=request.user_id).first()
    if user is None:
        return address_of(request.brand, NEW_PASSWORD, {"u": request.user_id, "p": ""})
    claims = {"u": user.pk, "p": password_mark(user)}
    hostname = hostname_of(user.registered_brand_id) if user.registered_brand_id else ""
    own_site = site_at(hostname) if hostname else settings.PORTAL_URL
    return f"{own_site or site_of(request.brand)}{path_of(NEW_PASSWORD, claims)}"


def password_mark(user: User) -> str:
    """Identifies the current password and address: a link is valid until either changes."""
    return salted_hmac("password.link", f"{tokens.fingerprint(user)} {user.email}", algorithm="sha256").hexdigest()


def display_value(value: Any, language: str) -> str:
    """Format numbers and days for the language."""
    with translation.override(language):
        if isinstance(value, bool) or value is None:
            return ""
        if isinstance(value, int | float | Decimal):
            return format_number(value)
        if isinstance(value, str) and (day := day_of(value)):
            return date_format(day, "DATE_FORMAT", use_l10n=True)
    return "".join(letter for letter in str(value) if letter == "\n" or letter.isprintable())


def shortened(text: str, channel: str) -> Value:
    """Shorten a value to the channel's limit, after a whole word and with an ellipsis."""
    longest = MAX_VALUE_LENGTHS[channel]
    if len(text) <= longest:
        return Value(text)
    begin = text[:longest]
    whole = begin if text[longest].isspace() else (begin.rsplit(None, 1) or [begin])[0]
    return Value(whole.rstrip() + ELLIPSIS, is_cut=True)


def day_of(text: str) -> date | None:
    if len(text) != len("2026-01-01"):
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def opt_out_link(request: MessageRequest) -> str:
    topic = KINDS[request.template].topic
    claims = {"u": request.user_id, "b": request.brand.pk, "t": topic.value, "c": request.channel}
    return address_of(request.brand, OPT_OUT, claims)


def address_of(brand: Brand, purpose: str, claims: Mapping[str, Any]) -> str:
    """The URL of a page without login. The link's signature proves its purpose and claims."""
    return f"{site_of(brand)}{path_of(purpose, claims)}"


def path_of(purpose: str, claims: Mapping[str, Any]) -> str:
    return f"/{purpose.replace('.', '/')}/{signing.dumps(claims, salt=purpose, compress=False)}"


def site_of(brand: Brand) -> str:
    return site_at(hostname_of(brand.pk) or "localhost")


def read_link(purpose: str, token: str, *, max_age: timedelta | None = None) -> dict[str, Any] | None:
    """The claims of a link's token. None if it was not signed here, or longer than `max_age` ago.

    Without `max_age` links do not expire, because mail is read late.
    """
    try:
        result: dict[str, Any] = signing.loads(token, salt=purpose, max_age=max_age)
    except signing.BadSignature:
        return None
    return result


def sample(brand: Brand, template: str, channel: str, language: str) -> MessageRequest:
    """Sample values, for previews and tests."""
    values = {name: example for name, (_description, example) in KINDS[template].slots.items() if example is not None}
    return MessageRequest(brand, template, channel, language, values, "Ada")
