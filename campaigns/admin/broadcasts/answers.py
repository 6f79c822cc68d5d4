"""The texts and figures on the pages of broadcasts: the audience, the draft preview and the results."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils.formats import date_format
from django.utils.http import urlencode
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from brands.models.quotas import BrandQuota
from brands.models.tenants import Brand
from brands.tenants import quotas
from campaigns.broadcasts import audience
from campaigns.broadcasts.audience import Audience
from campaigns.broadcasts.figures import Figures
from campaigns.broadcasts.texts import MAX_CHARACTERS, SLOTS
from campaigns.segments.ages import age_text as ago
from core.numbers import grouped, is_id
from loyalty.models.messages.broadcasts import Broadcast
from loyalty.models.notifications import Channel, Language, Template
from loyalty.models.programme.segments import Segment
from loyalty.notifications import catalogue, delivery, rendering
from loyalty.notifications.segments import broadcasts
from portal.base.badges import badge

State = Broadcast.State
COLOURS = {
    State.DRAFT: "",
    State.PLANNED: "info",
    State.SENDING: "info",
    State.SENT: "success",
    State.CANCELLED: "warning",
    State.FAILED: "danger",
}
LEFT_OUT = ("name", "send_at", "brand", "texts_opened")  # form fields left out when the page's script asks


def names() -> list[tuple[str, str]]:
    """The placeholders with their descriptions."""
    return [(f"{{{name}}}", str(description)) for name, (description, _example) in SLOTS.items()]


# --- The audience


def segment_chosen(brand: Brand, chosen: str) -> Segment | None:
    """The chosen segment; None if none is chosen or the brand does not have it."""
    if not is_id(chosen):
        return None
    return Segment.objects.filter(brand=brand, pk=chosen).first()


def audience_lines(
    *, brand: Brand, segment: Segment | None, channels: Sequence[str], at: datetime
) -> dict[str, str | list[str]]:
    """Texts: the number of members, the number that each chosen channel reaches, and the age of these numbers."""
    counted = audience.count(brand=brand, segment=segment, channels=channels)
    if counted is None:
        return {
            "total": _("Counting takes too long for this page. The number is known once sending begins."),
            "lines": [],
        }
    return {
        "total": reachable_text(counted),
        "lines": [*channel_lines(brand, counted, channels), age_text(segment, at=at)],
    }


def reachable_text(counted: Audience) -> str:
    text = ngettext(
        "It reaches %(reachable)s of %(members)s member.",
        "It reaches %(reachable)s of %(members)s members.",
        counted.members,
    )
    return text % {"reachable": grouped(counted.reachable), "members": grouped(counted.members)}


def channel_lines(brand: Brand, counted: Audience, channels: Sequence[str]) -> list[str]:
    usable = audience.usable(brand.pk, channels)
    off = not delivery.settings_of(brand.pk).is_active
    result = [_("Notifications are switched off in the notification settings.")] if off else []
    for channel in channels:
        label = Channel(channel).label
        if channel in usable:
            result.append(f"{label}: {grouped(counted.of(channel))}")
        elif not off:
            result.append(_("%(channel)s is not set up: see the notification settings.") % {"channel": label})
    return result


def age_text(segment: Segment | None, *, at: datetime) -> str:
    if segment is None:
        return _("Members who have opted out of rewards and reminders are left out.")
    if segment.evaluated_at is None:
        return _("The segment is evaluated within a minute, and again when sending begins.")
    text = _("The segment was evaluated %(ago)s. It is evaluated again when sending begins.")
    return text % {"ago": ago(segment.evaluated_at, at=at)}


def send_button(broadcast: Broadcast, counted: Audience | None) -> str:
    if broadcast.state == Broadcast.State.FAILED:
        return _("Resume sending")
    planned = broadcast.send_at is not None
    if counted is None:
        return _("Plan broadcast") if planned else _("Send broadcast")
    text = (
        ngettext("Plan for %(members)s member", "Plan for %(members)s members", counted.reachable)
        if planned
        else ngettext("Send to %(members)s member", "Send to %(members)s members", counted.reachable)
    )
    return text % {"members": grouped(counted.reachable)}


def before_sending(broadcast: Broadcast, counted: Audience | None, *, at: datetime) -> list[str]:
    """The paragraphs that the page shows before anything is sent."""
    segment, brand = broadcast.segment, broadcast.brand
    lines = [_("To: %(recipients)s.") % {"recipients": broadcast.segment_name or _("all members")}]
    if counted is not None:
        lines += [reachable_text(counted), *channel_lines(brand, counted, broadcast.channels)]
    lines.append(age_text(segment, at=at))
    if broadcast.send_at and broadcast.state == Broadcast.State.DRAFT:
        moment = date_format(localtime(broadcast.send_at), "SHORT_DATETIME_FORMAT")
        lines.append(_("Sending begins on %(moment)s (%(zone)s).") % {"moment": moment, "zone": brand.zone.key})
    limit = quotas.limit_of(brand.pk, BrandQuota.Resource.BROADCASTS)
    if limit and counted is not None and counted.members > limit:
        text = _("Your brand may send to %(limit)s members a day. The remaining ones follow on the next days.")
        lines.append(text % {"limit": grouped(limit)})
    lines.append(_("Sent messages cannot be taken back."))
    return lines


# --- The draft preview


def draft(brand: Brand, texts: Mapping[str, Any], channels: Sequence[str], data: Mapping[str, str]) -> dict[str, Any]:
    """The form's texts with sample data, in the language that is being edited, or what is wrong with them."""
    written = broadcasts.languages_of(texts)
    language = data.get("shown_language", "")
    if language not in Language.values or language not in written:
        language = written[0] if written else ""
    if not language:
        return {"draft": None}
    parts = texts[language]
    for part, text in parts.items():
        problems = catalogue.problems_of(text, known=SLOTS, needed=frozenset(), longest=MAX_CHARACTERS[part])
        if text and (problem := next(problems, "")):
            return {"draft": {"language": str(Language(language).label), "problem": problem}}
    result: dict[str, Any] = {"language": str(Language(language).label), "direction": catalogue.direction(language)}
    for channel, key in ((Channel.EMAIL, "mail"), (Channel.PUSH, "short")):
        is_chosen = channel in channels if channel == Channel.EMAIL else {Channel.SMS, Channel.PUSH} & set(channels)
        if not is_chosen:
            continue
        text = broadcasts.message_text(texts, channel=channel, language=language)
        composed = rendering.compose(rendering.sample(brand, Template.BROADCAST.value, channel, language), text)
        result[key] = {"subject": composed.subject, "text": composed.text, "html": composed.html}
    return {"draft": result}


def first_preview(broadcast: Broadcast) -> dict[str, str]:
    languages = broadcasts.languages_of(broadcast.texts)
    return {
        "channel": broadcast.channels[0] if broadcast.channels else "",
        "language": languages[0] if languages else "",
    }


def preview_address(address: str, channel: str, language: str) -> str:
    return f"{address}?{urlencode({'channel': channel, 'language': language})}"


# --- The results


def recipients_of(broadcast: Broadcast) -> str:
    if broadcast.segment_name:
        return broadcast.segment.name if broadcast.segment else broadcast.segment_name
    return _("All members")


def state_badge(broadcast: Broadcast) -> SafeString:
    if broadcast.state == State.SENDING and broadcast.next_at:
        return badge("info", _("Goes on tomorrow"))
    return badge(COLOURS[State(broadcast.state)], broadcast.get_state_display())


def figure_lines(counted: Figures | None) -> list[tuple[str, str]]:
    """Labels and numbers, in the order of the page; empty if counting takes too long."""
    if counted is None:
        return []
    lines = {
        _("Members"): counted.members,
        _("Reached"): counted.reached,
        _("On the way"): counted.waiting,
        _("Failed"): counted.failed,
        _("Opted out"): counted.opted_out,
        _("No address"): counted.unreachable,
        _("Stopped"): counted.stopped,
    }
    return [(name, grouped(value)) for name, value in lines.items()]
