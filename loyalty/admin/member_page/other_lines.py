"""Timeline entries for rewards, messages, wallet passes, merges and referrals."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from core.db import statements
from loyalty.admin.notifications.deliveries import COLOURS as MESSAGE_COLOURS
from loyalty.admin.notifications.deliveries import displayed_address
from loyalty.admin.programme import referrals
from loyalty.admin.till.answers import masked_code, state_badge
from loyalty.admin.wallet_passes import COLOURS as CARD_COLOURS
from loyalty.models.ledger import AccountMerge
from loyalty.models.notifications import NotificationDelivery
from loyalty.models.programme.referrals import Referral
from loyalty.models.rewards import Redemption
from loyalty.models.wallets import WalletPass
from loyalty.points import ledger
from portal.base.badges import badge
from portal.lists import local_time
from portal.lists.number_columns import format_points
from portal.timeline.sources import Describe, Subject, TimelineItem, TimelineSource, address_of


def rewards(subject: Subject, ids: Sequence[str]) -> Mapping[str, TimelineItem]:
    rows = Redemption.objects.filter(pk__in=ids).select_related("user_point", "pool_code", "used_by", "used_key")
    return {str(row.pk): reward_line(subject, row) for row in rows}


def reward_line(subject: Subject, row: Redemption) -> TimelineItem:
    return TimelineItem(
        when=local_time.display_moment(row.created_at, subject.brand.zone),
        icon="confirmation_number",
        title=row.name,
        address=address_of(row),
        state=state_badge(row),
        details=[masked_code(row), *ends_of(subject, row)],
        merge_key=f"{ledger.TAKEN}{row.pk}" if row.cost else "",
    )


def ends_of(subject: Subject, row: Redemption) -> list[str]:
    """When and by whom the redemption was used, or when it was cancelled."""
    if row.used_at:
        used_by = row.used_by.get_full_name() if row.used_by else str(row.used_key or _("another system"))
        when = local_time.moment_text(row.used_at, subject.brand.zone)
        return [_("used %(when)s by %(person)s") % {"when": when, "person": used_by}]
    if row.cancelled_at:
        return [_("cancelled %(when)s") % {"when": local_time.moment_text(row.cancelled_at, subject.brand.zone)}]
    return []


def messages(subject: Subject, ids: Sequence[str]) -> Mapping[str, TimelineItem]:
    rows = NotificationDelivery.objects.filter(pk__in=ids).select_related("user")
    return {
        str(row.pk): TimelineItem(
            when=local_time.display_moment(row.created_at, subject.brand.zone),
            icon="mail",
            title=row.get_template_display(),
            address=address_of(row),
            state=badge(MESSAGE_COLOURS[row.status], row.get_status_display()),
            details=[message_details(subject, row)],
        )
        for row in rows
    }


def message_details(subject: Subject, row: NotificationDelivery) -> SafeString:
    return format_html("{}, {}", row.get_channel_display(), displayed_address(subject.request.user, row))


def cards(subject: Subject, ids: Sequence[str]) -> Mapping[str, TimelineItem]:
    return {
        str(row.pk): TimelineItem(
            when=local_time.display_moment(row.created_at, subject.brand.zone),
            icon="wallet",
            title=row.get_platform_display(),
            address=address_of(row),
            state=badge(CARD_COLOURS[row.state], row.get_state_display()),
        )
        for row in WalletPass.objects.filter(pk__in=ids).defer("token")
    }


def merges(subject: Subject, ids: Sequence[str]) -> Mapping[str, TimelineItem]:
    rows = AccountMerge.objects.filter(pk__in=ids).select_related("target__user", "source__user")
    return {str(row.pk): merge_line(subject, row) for row in rows}


def merge_line(subject: Subject, row: AccountMerge) -> TimelineItem:
    is_target = row.target_id == subject.accounts[0]
    other = row.source if is_target else row.target
    text = _("The account of %(member)s was merged into this one.") if is_target else _("Merged into %(member)s.")
    details = [format_points(row.points), *([row.note] if row.note else [])]
    if row.undone_at:
        details.append(_("undone %(when)s") % {"when": local_time.moment_text(row.undone_at, subject.brand.zone)})
    return TimelineItem(
        when=local_time.display_moment(row.created_at, subject.brand.zone),
        icon="merge",
        title=text % {"member": other.display_name},
        address=address_of(other),
        details=details,
    )


def friends(subject: Subject, ids: Sequence[str]) -> Mapping[str, TimelineItem]:
    rows = Referral.objects.filter(pk__in=ids).select_related("referrer__user", "friend__user")
    return {
        str(row.pk): TimelineItem(
            when=local_time.display_moment(row.created_at, subject.brand.zone),
            icon="group_add",
            title=referrals.line_of(row, subject.accounts),
            address=address_of(row),
            state=referrals.state_of(row),
            details=[each for each in (row.get_why_display() if row.why else referrals.points_of(row),) if each],
        )
        for row in rows
    }


def source(name: str, title: Any, label: str, describe: Describe) -> TimelineSource:
    branch = statements.part(f"loyalty/admin/member_page/sql/{name}_of_customer.sql")
    return TimelineSource(name=name, title=title, label=label, branch=branch, describe=describe)


REWARDS = source("rewards", gettext_lazy("Rewards"), "loyalty.redemption", rewards)
MESSAGES = source("messages", gettext_lazy("Messages"), "loyalty.notificationdelivery", messages)
CARDS = source("cards", gettext_lazy("Wallet passes"), "loyalty.walletpass", cards)
MERGES = source("merges", gettext_lazy("Merges"), "loyalty.userpoints", merges)
REFERRALS = source("referrals", gettext_lazy("Referrals"), "loyalty.referral", friends)
